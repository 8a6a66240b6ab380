package peers;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.PipelineOptions;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;

/**
 * Linear Road on Apache Flink: reads the driver's lines on standard input, writes answers of types 0 to 3.
 *
 * <p>Travel times are answered as unknown, but for journeys to where one is. Arguments: OUTPUT START [--tolls CSV] [--parallelism N] [--checkpoint SECONDS]
 * [--vids-apart V] [--xways-apart X].
 */
public final class LinearRoad {
    // One for the process: Flink's local cluster runs all tasks in it.
    private static History history;

    private LinearRoad() {}

    public static void main(String[] words) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 2; i + 1 < words.length; i += 2) {
            options.put(words[i], words[i + 1]);
        }
        history = new History(number(options, "--vids-apart", 0), number(options, "--xways-apart", 0));
        if (options.containsKey("--tolls")) {
            history.load(Path.of(options.get("--tolls")));
        }
        int cores = Runtime.getRuntime().availableProcessors();
        Configuration settings = new Configuration();
        settings.set(PipelineOptions.OBJECT_REUSE, true);
        settings.set(PipelineOptions.GENERIC_TYPES, false);
        StreamExecutionEnvironment flink = StreamExecutionEnvironment.createLocalEnvironment(
                number(options, "--parallelism", cores), settings);
        flink.setBufferTimeout(20);
        int checkpoint = number(options, "--checkpoint", 0);
        if (checkpoint > 0) {
            flink.enableCheckpointing(checkpoint * 1000L);
        }
        draw(flink, words[0], words[1]);
        flink.execute("Linear Road");
    }

    private static void draw(StreamExecutionEnvironment flink, String output, String start) {
        DataStream<Event> events = flink.addSource(new Lines(), "lines", Types.POJO(Event.class)).setParallelism(1);
        DataStream<Event> requests = events.filter(event -> event.type != 0).name("requests").setParallelism(1);
        SingleOutputStreamOperator<Answer> notices = events.filter(event -> event.type == 0)
                .name("reports")
                .setParallelism(1)
                .keyBy(report -> report.xway * 2 + report.dir, Types.INT)
                .process(new Road(), Types.POJO(Answer.class))
                .name("road");
        DataStream<Answer> balances = notices.getSideOutput(Road.CHARGES)
                .keyBy(charge -> charge.vid, Types.INT)
                .connect(requests.filter(request -> request.type == 2).setParallelism(1)
                        .keyBy(request -> request.vid, Types.INT))
                .process(new Accounts(), Types.POJO(Answer.class))
                .name("accounts");
        DataStream<Answer> past = requests.filter(request -> request.type > 2).setParallelism(1)
                .map(LinearRoad::past, Types.POJO(Answer.class))
                .name("history")
                .setParallelism(1);
        notices.union(balances, past).sinkTo(new AnswerFile(output, start)).name("answers").setParallelism(1);
    }

    private static Answer past(Event request) {
        String unknown = request.sinit == request.send ? ",0,0" : ",-1,-1";
        String values = request.type == 3 ? "," + history.of(request) : unknown;
        return new Answer(request.type + "," + request.time + ",", "," + request.qid + values);
    }

    private static int number(Map<String, String> options, String name, int otherwise) {
        return Integer.parseInt(options.getOrDefault(name, String.valueOf(otherwise)));
    }
}
