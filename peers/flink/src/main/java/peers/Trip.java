package peers;

/** The last report of a vehicle, how often it came from one place, and the toll quoted for its segment. */
public class Trip {
    public int time;
    public int lane;
    public int seg;
    public int pos;
    public int run;
    public int quote;
}
