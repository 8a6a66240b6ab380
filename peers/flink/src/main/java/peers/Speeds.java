package peers;

/** The speeds of one vehicle in one segment and minute. */
public class Speeds {
    public int sum;
    public int count;
}
