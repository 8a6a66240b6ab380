package peers;

import java.util.ArrayList;
import java.util.List;

/** The balance of a vehicle through some second, and charges that may be later. */
public class Account {
    public int balance;
    public int charged = Integer.MIN_VALUE / 2;
    public List<Charge> later = new ArrayList<>();
}
