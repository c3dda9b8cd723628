// Checks: programs that hold the repository to something, and how several of them are run. Which they are is
// verify's. At most `parallelMax` at once; one that wants the machine to itself starts when the others have
// ended. Each check gives exactly one line, when it has ended; the output of a failed one follows it.
// Aborted, all of them end with their children, and what had not ended counts as failed.
import { root } from './layout.mjs'
import { run } from './run.mjs'

export interface Check {
  readonly name: string
  /** Program and arguments, as words. */
  readonly command: readonly string[]
  readonly timeoutMs: number
  /** Its timing matters: nothing else runs meanwhile. Default false. */
  readonly alone?: boolean
  /** What to tell beside ok or failed. */
  readonly summary?: (output: string) => string | null
  /** What to do when it failed. */
  readonly remedy?: string
}

interface Ended {
  readonly name: string
  readonly ok: boolean
}

/** Runs the checks and tells each through `say`. @returns in the order of their end */
export async function runChecks(
  checks: readonly Check[],
  options: { parallelMax: number; signal: AbortSignal; say: (text: string) => void },
): Promise<Ended[]> {
  const together = checks.filter(({ alone }) => alone !== true)
  const ended: Ended[] = []
  const take = async (): Promise<void> => {
    for (let check = together.shift(); check !== undefined; check = together.shift())
      ended.push(await runCheck(check, options))
  }
  await Promise.all(Array.from({ length: options.parallelMax }, take))
  for (const check of checks.filter(({ alone }) => alone === true)) ended.push(await runCheck(check, options))
  return ended
}

async function runCheck(
  check: Check,
  { signal, say }: { signal: AbortSignal; say: (text: string) => void },
): Promise<Ended> {
  const { name, command, timeoutMs, summary, remedy } = check
  const since = performance.now()
  const [program = '', ...args] = command
  const told = (ok: boolean, note: string | null, output: string): Ended => {
    const seconds = ((performance.now() - since) / 1000).toFixed(1)
    const line = `${ok ? 'ok    ' : 'failed'}  ${name.padEnd(14)}${seconds.padStart(6)} s${note === null ? '' : `  ${note}`}`
    say(ok ? `${line}\n` : `${line}\n${indented(output)}${remedy === undefined ? '' : `    → ${remedy}\n`}`)
    return { name, ok }
  }
  try {
    const { code, output, missing, timedOut } = await run(program, args, {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
      signal,
      timeoutMs,
    })
    if (missing) return told(false, null, `There is no program ${program}.`)
    if (timedOut) return told(false, null, `${output}\nIt did not end within ${timeoutMs / 1000} s.`)
    return told(code === 0, summary?.(output) ?? null, output)
  } catch (error) {
    if (!signal.aborted) throw error
    return told(false, 'interrupted', '')
  }
}

function indented(output: string): string {
  const text = output.trim()
  return text === ''
    ? ''
    : `${text
        .split('\n')
        .map((line) => (line === '' ? '' : `    ${line}`))
        .join('\n')}\n`
}
