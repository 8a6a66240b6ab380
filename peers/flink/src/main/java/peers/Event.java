package peers;

/** A line of the driver: a report of type 0, or a request. Public fields, so that Flink serialises it as a POJO. */
public class Event {
    public int type;
    public int time;
    public int vid;
    public int speed;
    public int xway;
    public int lane;
    public int dir;
    public int seg;
    public int pos;
    public int qid;
    public int sinit;
    public int send;
    public int day;
}
