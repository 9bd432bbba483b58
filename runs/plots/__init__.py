"""Drawings made on the server: inline SVG that follows the page's theme, without style attributes or scripts."""
