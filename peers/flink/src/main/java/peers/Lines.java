package peers;

import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;

/**
 * The driver's lines on standard input, parsed byte by byte.
 *
 * <p>The driver delivers whole seconds in order, so a second is complete when a line of a later one comes: the watermark
 * says so.
 */
public class Lines implements SourceFunction<Event> {
    private static final int FIELDS = 15;
    private volatile boolean running = true;

    @Override
    public void run(SourceContext<Event> out) throws IOException {
        byte[] buffer = new byte[1 << 20];
        int[] fields = new int[FIELDS];
        int field = 0;
        int number = 0;
        boolean negative = false;
        int second = -1;
        try (FileInputStream in = new FileInputStream(FileDescriptor.in)) {
            for (int read; running && (read = in.read(buffer)) >= 0; ) {
                for (int i = 0; i < read; i++) {
                    byte character = buffer[i];
                    if (character >= '0' && character <= '9') {
                        number = number * 10 + character - '0';
                    } else if (character == '-') {
                        negative = true;
                    } else if (character == ',' || character == '\n') {
                        fields[field++] = negative ? -number : number;
                        number = 0;
                        negative = false;
                        if (character == '\n') {
                            field = 0;
                            if (fields[1] > second) {
                                out.emitWatermark(new Watermark(second));
                                second = fields[1];
                            }
                            out.collectWithTimestamp(event(fields), second);
                        }
                    }
                }
            }
        }
    }

    private static Event event(int[] fields) {
        Event event = new Event();
        event.type = fields[0];
        event.time = fields[1];
        event.vid = fields[2];
        event.speed = fields[3];
        event.xway = fields[4];
        event.lane = fields[5];
        event.dir = fields[6];
        event.seg = fields[7];
        event.pos = fields[8];
        event.qid = fields[9];
        event.sinit = fields[10];
        event.send = fields[11];
        event.day = fields[14];
        return event;
    }

    @Override
    public void cancel() {
        running = false;
    }
}
