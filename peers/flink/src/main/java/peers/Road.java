package peers;

import java.util.Iterator;
import java.util.Map;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.MapStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.util.Collector;
import org.apache.flink.util.OutputTag;

/**
 * Trips, statistics, accidents, notices and alerts, keyed by expressway and direction.
 *
 * <p>Tolls depend on minutes that are over, so a report is answered as soon as it is there. The source is in order, and
 * Flink keeps that order by key.
 */
public class Road extends KeyedProcessFunction<Integer, Event, Answer> {
    public static final OutputTag<Charge> CHARGES = new OutputTag<>("charges", Types.POJO(Charge.class));
    private static final int EXIT_LANE = 4;
    private static final int CYCLE = 30;
    private static final int FEET = 5280;
    private static final int PRUNE_MINUTES = 5;

    private transient ValueState<Statistics> statistics;
    private transient MapState<Long, Trip> trips;
    private transient MapState<Long, Speeds> speeds;
    private transient MapState<Integer, Map<Integer, Integer>> stops;

    @Override
    public void open(OpenContext context) {
        statistics = getRuntimeContext().getState(new ValueStateDescriptor<>("statistics", Statistics.class));
        trips = getRuntimeContext().getMapState(new MapStateDescriptor<>("trips", Long.class, Trip.class));
        speeds = getRuntimeContext().getMapState(new MapStateDescriptor<>("speeds", Long.class, Speeds.class));
        stops = getRuntimeContext().getMapState(
                new MapStateDescriptor<>("stops", Types.INT, Types.MAP(Types.INT, Types.INT)));
    }

    @Override
    public void processElement(Event report, Context context, Collector<Answer> out) throws Exception {
        Statistics now = statistics.value();
        if (now == null) {
            now = new Statistics();
            statistics.update(now);
        }
        int minute = report.time / 60 + 1;
        while (now.minute < minute) {
            closeMinute(now, report);
        }

        // Rule 8: a predecessor is exactly 30 s older, so a chain of reports is a vehicle and a phase.
        long chain = (long) report.vid * CYCLE + report.time % CYCLE;
        Trip trip = trips.get(chain);
        boolean goesOn = trip != null && trip.time == report.time - CYCLE;
        boolean enters = !goesOn || trip.seg != report.seg;
        if (trip == null) {
            trip = new Trip();
        }
        boolean same = goesOn && trip.lane == report.lane && trip.pos == report.pos;
        trip.run = same ? trip.run + 1 : 1;
        if (enters) {
            if (goesOn && trip.quote > 0) {
                context.output(CHARGES, new Charge(report.vid, report.time, trip.quote));
            }
            trip.quote = report.lane == EXIT_LANE ? 0 : notify(now, report, out);
        }
        trip.time = report.time;
        trip.lane = report.lane;
        trip.seg = report.seg;
        trip.pos = report.pos;
        trips.put(chain, trip);

        long vehicle = (long) report.seg << 32 | report.vid;
        Speeds seen = speeds.get(vehicle);
        if (seen == null) {
            seen = new Speeds();
        }
        seen.sum += report.speed;
        seen.count++;
        speeds.put(vehicle, seen);
        if (trip.run >= 4 && report.lane >= 1 && report.lane <= 3) {
            stop(now, report);
        }
    }

    /** Rules 6, 7, 14 and 15: the notice and the alert. */
    private static int notify(Statistics now, Event report, Collector<Answer> out) {
        int toll = now.toll[report.seg];
        out.collect(new Answer("0," + report.vid + "," + report.time + ",", "," + now.lav[report.seg] + "," + toll));
        int accident = now.nearest[report.seg];
        if (accident >= 0) {
            String place = "," + report.vid + "," + report.xway + "," + accident + "," + report.dir;
            out.collect(new Answer("1," + report.time + ",", place));
        }
        return toll;
    }

    /** Rules 9, 10 and 12: a fourth equal report stops a vehicle for 30 s; two at one place are an accident. */
    private void stop(Statistics now, Event report) throws Exception {
        int spot = report.pos * 4 + report.lane;
        Map<Integer, Integer> here = stops.get(spot);
        if (here == null) {
            here = new java.util.HashMap<>();
        }
        here.values().removeIf(time -> time <= report.time - CYCLE);
        for (Map.Entry<Integer, Integer> other : here.entrySet()) {
            if (other.getKey() != report.vid) {
                int last = other.getValue() + CYCLE - 1;
                for (int minute = report.time / 60 + 1; minute <= last / 60 + 1; minute++) {
                    now.accident(minute, report.pos / FEET);
                }
            }
        }
        here.put(report.vid, report.time);
        stops.put(spot, here);
    }

    private void closeMinute(Statistics now, Event report) throws Exception {
        for (Map.Entry<Long, Speeds> vehicle : speeds.entries()) {
            now.add((int) (vehicle.getKey() >> 32), vehicle.getValue());
        }
        speeds.clear();
        now.close(report.dir);
        if (now.minute % PRUNE_MINUTES == 0) {
            prune(trips.iterator(), report.time);
            for (Iterator<Map.Entry<Integer, Map<Integer, Integer>>> all = stops.iterator(); all.hasNext(); ) {
                Map<Integer, Integer> here = all.next().getValue();
                if (here.values().stream().allMatch(time -> time <= report.time - CYCLE)) {
                    all.remove();
                }
            }
        }
    }

    private static void prune(Iterator<Map.Entry<Long, Trip>> trips, int time) {
        while (trips.hasNext()) {
            if (trips.next().getValue().time < time - CYCLE) {
                trips.remove();
            }
        }
    }
}
