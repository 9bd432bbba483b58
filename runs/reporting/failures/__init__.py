"""What did not pass: its classes, cells that ended alike, and answers that were cut off."""
