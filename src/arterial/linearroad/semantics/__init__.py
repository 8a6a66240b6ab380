"""What Linear Road means, as data: the constants of the city, and the profiles in which readings of it differ.

Everything about Linear Road imports from here. Begin with `city`, then `profiles`; `rules` has the rules by number.
"""
