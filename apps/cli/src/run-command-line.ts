// Runs one command line to its end, and turns every outcome into an exit code. The process belongs to
// main.ts.
import { readFileSync } from 'node:fs'
import { linesOf, toldOf } from './failures.ts'
import { parseCommandLine } from './program.ts'
import { plainText } from './text/plain-text.ts'
import { wrappedFor } from './text/wrap-screen.ts'

/**
 * Runs the words after `beaver`. It prints to stdout and stderr, and never throws.
 *
 * @returns the exit code
 */
export async function runCommandLine(argv: readonly string[]): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string
  }
  try {
    const parsed = await parseCommandLine(argv, version)
    return parsed === null ? 0 : await parsed()
  } catch (error) {
    const told = await toldOf(error)
    const { code, message, problems } = told
    if (argv.includes('--json'))
      process.stdout.write(
        `${(await import('@beaver/core')).safeJson(JSON.stringify({ ok: false, error: { code, message, problems } }))}\n`,
      )
    process.stderr.write(`${wrappedFor(process.stderr, plainText(linesOf(told).join('\n')))}\n`)
    if (process.env['BEAVER_DEBUG'] === '1' && error instanceof Error)
      process.stderr.write(`${plainText(describe(error))}\n`)
    return told.exit
  }
}

function describe(error: Error): string {
  const cause = error.cause instanceof Error ? `\ncaused by ${describe(error.cause)}` : ''
  return `${error.stack ?? error.message}${cause}`
}
