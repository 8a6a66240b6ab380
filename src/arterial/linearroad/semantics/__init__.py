"""What Linear Road means, as data: the constants of the city, and the profiles in which readings of it differ."""
