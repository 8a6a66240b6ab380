package peers;

/** A line of output without its Emit, which the sink puts between both halves when it writes the line. */
public class Answer {
    public String before;
    public String after;

    public Answer() {}

    public Answer(String before, String after) {
        this.before = before;
        this.after = after;
    }
}
