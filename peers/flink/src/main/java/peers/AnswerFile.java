package peers;

import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.flink.api.common.operators.ProcessingTimeService;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;

/** The file of answers. Emit is the time since the driver's start, rounded up, when a line is put into the file. */
public class AnswerFile implements Sink<Answer> {
    private static final int FLUSH_MILLISECONDS = 20;
    private final String output;
    private final String start;

    public AnswerFile(String output, String start) {
        this.output = output;
        this.start = start;
    }

    @Override
    public SinkWriter<Answer> createWriter(WriterInitContext context) throws IOException {
        return new Writer(context.getProcessingTimeService());
    }

    private final class Writer implements SinkWriter<Answer>, ProcessingTimeService.ProcessingTimeCallback {
        private final OutputStream file = new BufferedOutputStream(new FileOutputStream(output), 1 << 18);
        private final ProcessingTimeService clock;
        private double began = -1;

        private Writer(ProcessingTimeService clock) throws IOException {
            this.clock = clock;
            clock.registerTimer(clock.getCurrentProcessingTime() + FLUSH_MILLISECONDS, this);
        }

        @Override
        public void write(Answer answer, Context context) throws IOException {
            if (began < 0) {
                began = Double.parseDouble(Files.readString(Path.of(start)).trim()) * 1000;
            }
            // What is written now is flushed within the next FLUSH_MILLISECONDS, and says so.
            long emit = (long) Math.ceil(System.currentTimeMillis() + FLUSH_MILLISECONDS - began);
            String line = answer.before + emit / 1000 + "." + String.valueOf(1000 + emit % 1000).substring(1)
                    + answer.after + "\n";
            file.write(line.getBytes(StandardCharsets.US_ASCII));
        }

        @Override
        public void onProcessingTime(long time) throws IOException {
            file.flush();
            clock.registerTimer(clock.getCurrentProcessingTime() + FLUSH_MILLISECONDS, this);
        }

        @Override
        public void flush(boolean endOfInput) throws IOException {
            file.flush();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
