package peers;

/** A toll that a vehicle has to pay since some second. */
public class Charge {
    public int vid;
    public int time;
    public int amount;

    public Charge() {}

    public Charge(int vid, int time, int amount) {
        this.vid = vid;
        this.time = time;
        this.amount = amount;
    }
}
