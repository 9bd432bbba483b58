"""The egress proxy: a process in an environment of its own, the only way from a sandbox to hosts on the network.

It knows no account, policy or rule: the gateway process judges each request and hands over what to attach. Of the house
it imports ``kernel`` alone, and nothing of it needs Django.
"""
