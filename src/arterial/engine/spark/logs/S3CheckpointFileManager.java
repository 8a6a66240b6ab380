package arterial;

import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Spark's files of a checkpoint on S3 (decision 50). A file is there, whole, when it is closed; one that must be new is
 * put only if none is there at that moment. Janino compiles this when a run starts (store_files.py).
 */
public final class S3CheckpointFileManager extends FileSystemBasedCheckpointFileManager {
    private static final String ONLY_IF_ABSENT = "fs.option.create.conditional.overwrite";

    public S3CheckpointFileManager(Path path, Configuration settings) {
        super(path, settings);
    }

    @Override
    public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
        try {
            FSDataOutputStreamBuilder file = fs().createFile(path);
            file.recursive();
            file.overwrite(overwrite);
            if (!overwrite) {
                file.must(ONLY_IF_ABSENT, true);
            }
            return new Put((FSDataOutputStream) file.build(), path, overwrite);
        } catch (IOException trouble) {
            throw new UncheckedIOException(trouble);
        }
    }

    /** A file that is being written; nobody sees anything of it before it is closed. */
    private final class Put extends CheckpointFileManager.CancellableFSDataOutputStream {
        private final FSDataOutputStream file;
        private final Path path;
        private final boolean overwrite;

        Put(FSDataOutputStream file, Path path, boolean overwrite) {
            super(file);
            this.file = file;
            this.path = path;
            this.overwrite = overwrite;
        }

        @Override
        public void close() throws IOException {
            try {
                super.close();
            } catch (IOException trouble) {
                if (overwrite || !exists(path)) {
                    throw trouble;
                }
                throw (IOException) new FileAlreadyExistsException(path.toString()).initCause(trouble);
            }
        }

        @Override
        public void cancel() {
            file.abort();
        }
    }
}
