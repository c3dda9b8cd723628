// The command `beaver`. It parses the command line, runs one command, and turns every outcome into an exit code.
// M1. stdout and stderr are flushed before the process ends.
// M2. The process ends even if a finished command left a handle open.
import { readFileSync } from 'node:fs'
import { linesOf, toldOf } from './failures.ts'
import { parseCommandLine } from './program.ts'
import { plainText } from './text/plain-text.ts'

async function main(argv: readonly string[]): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
  try {
    const parsed = await parseCommandLine(argv, version)
    return parsed === null ? 0 : await parsed()
  } catch (error) {
    const told = await toldOf(error)
    const { code, message, problems } = told
    if (argv.includes('--json'))
      process.stdout.write(`${(await import('@beaver/core')).safeJson(JSON.stringify({ ok: false, error: { code, message, problems } }))}\n`)
    process.stderr.write(`${plainText(linesOf(told).join('\n'))}\n`)
    if (process.env['BEAVER_DEBUG'] === '1' && error instanceof Error) process.stderr.write(`${plainText(describe(error))}\n`)
    return told.exit
  }
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${describe(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}

const flushed = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => (stream.destroyed || stream.writableEnded ? resolve() : void stream.write('', () => resolve())))

// In `beaver events … | head`, the reader closes the pipe when it has seen enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error
  void import('./interrupts.ts').then(({ announceClosed }) => {
    if (!announceClosed()) process.exit(0)
  })
})
process.stderr.on('error', () => {})

const exitCode = await main(process.argv.slice(2))
await Promise.all([flushed(process.stdout), flushed(process.stderr)])
process.exit(exitCode)
