package peers;

/** What one direction of an expressway knows of its segments: five minutes of means, tolls and accidents. */
public class Statistics {
    public static final int SEGMENTS = 100;
    private static final int MINUTES = 5;
    // Means of up to ten speeds are whole numbers in this unit, so that sums are exact.
    private static final int PARTS = 2520;
    private static final int REACH = 5;

    public int minute = 1;
    public long[][] speeds = new long[MINUTES][SEGMENTS];
    public int[][] cars = new int[MINUTES][SEGMENTS];
    public boolean[][] accidents = new boolean[3][SEGMENTS];
    public int[] lav = new int[SEGMENTS];
    public int[] toll = new int[SEGMENTS];
    public int[] nearest = new int[SEGMENTS];

    public Statistics() {
        java.util.Arrays.fill(lav, -1);
        java.util.Arrays.fill(nearest, -1);
    }

    /** One vehicle's mean in this minute. */
    public void add(int seg, Speeds vehicle) {
        speeds[minute % MINUTES][seg] += (long) vehicle.sum * PARTS / vehicle.count;
        cars[minute % MINUTES][seg]++;
    }

    /** There is an accident in this segment in some second of that minute. */
    public void accident(int minute, int seg) {
        accidents[minute % 3][seg] = true;
    }

    /** The minute is over: rules 1 to 6, 11 and 13 for the next one. */
    public void close(int dir) {
        boolean[] ended = accidents[minute % 3];
        for (int seg = 0; seg < SEGMENTS; seg++) {
            double means = 0;
            int counted = 0;
            for (int m = 0; m < MINUTES; m++) {
                if (cars[m][seg] > 0) {
                    means += speeds[m][seg] / ((double) PARTS * cars[m][seg]);
                    counted++;
                }
            }
            // A mean that is a whole number must not fall below it by a rounding error.
            lav[seg] = counted == 0 ? -1 : (int) Math.floor(means / counted + 1e-9);
            nearest[seg] = -1;
            for (int i = REACH - 1; i >= 0; i--) {
                int ahead = Math.max(0, Math.min(SEGMENTS - 1, dir == 0 ? seg + i : seg - i));
                if (ended[ahead]) {
                    nearest[seg] = ahead;
                }
            }
            int over = cars[minute % MINUTES][seg] - 50;
            toll[seg] = counted > 0 && lav[seg] < 40 && over > 0 && nearest[seg] < 0 ? 2 * over * over : 0;
        }
        java.util.Arrays.fill(ended, false);
        minute++;
        java.util.Arrays.fill(speeds[minute % MINUTES], 0);
        java.util.Arrays.fill(cars[minute % MINUTES], 0);
    }
}
