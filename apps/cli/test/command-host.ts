// Runs many command lines in one process, one after the other, for tests of what commands print.
// test/support/cli.ts starts this process, and the process ends with it. The command that runs has the
// folder, the environment and the output for itself. No command has input.
import { runCommandLine } from '../src/run-command-line.ts'

interface Asked {
  readonly args: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
}

let out = ''
let err = ''
process.stdout.write = keeping((text) => (out += text))
process.stderr.write = keeping((text) => (err += text))

let running = Promise.resolve()
process.on('message', (asked: Asked) => {
  running = running.then(() => run(asked))
})
process.on('disconnect', () => process.exit())

async function run({ args, cwd, env }: Asked): Promise<void> {
  process.chdir(cwd)
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name]
  Object.assign(process.env, env)
  const exit = await runCommandLine(args)
  process.send?.({ exit, out, err })
  out = ''
  err = ''
}

function keeping(keep: (text: string) => void): typeof process.stdout.write {
  return (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    keep(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString())
    const called = typeof encoding === 'function' ? encoding : done
    if (typeof called === 'function') process.nextTick(called as () => void)
    return true
  }
}
