// The command `beaver`: the process of one command line. The process ends only after stdout and stderr are
// flushed, even if a finished command left a handle open.
import { runCommandLine } from './run-command-line.ts'

const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) =>
    stream.destroyed || stream.writableEnded ? resolve() : void stream.write('', () => resolve()),
  )

// The reader of a pipe may close it early, as in `beaver events … | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') {
    process.stderr.write(`The output cannot be written: ${error.message}\n`)
    process.exit(1)
  }
  void import('./interrupts.ts').then(({ announceClosed }) => {
    if (!announceClosed()) process.exit(0)
  })
})
process.stderr.on('error', () => {})

const exitCode = await runCommandLine(process.argv.slice(2))
await Promise.all([flushed(process.stdout), flushed(process.stderr)])
process.exit(exitCode)
