// `npm run test:flaky -- <file…> [--times <n>] [--load <n>]`: runs test files again and again beside busy
// loops, to find what fails by chance. Each run has a line: green or red, its seconds, and the tests that
// failed. What a red run printed stays in a file. The busy loops end with this process. Exit code 0 only if
// all runs were green.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { root } from './lib/layout.mjs'
import { run } from './lib/run.mjs'
import { setupOrExit } from './setup.mjs'

const minutesMax = 20
const say = (/** @type {string} */ text) => process.stdout.write(`${text}\n`)

const { files, times, load, shuffle } = readArguments()

const { node } = await setupOrExit()
const stop = new AbortController()
for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(name, () => stop.abort(new Error(`stopped by ${name}`)))
const loops = Array.from({ length: load }, () => new Worker('for (;;);', { eval: true }))
const logs = join(root, '.beaver', 'tmp', `flaky-${process.pid}`)
let [red, shortest, longest] = [0, Infinity, 0]

say(
  `${files.join(' ')}: ${times} ${times === 1 ? 'run' : 'runs'} beside ${load} busy ${load === 1 ? 'loop' : 'loops'}`,
)
try {
  for (let i = 1; i <= times; i++) {
    const since = performance.now()
    const order = shuffle ? ['--sequence.shuffle', `--sequence.seed=${i}`] : []
    const { code, output, timedOut } = await run(
      node,
      [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', ...order, ...files],
      {
        cwd: root,
        env: { ...process.env, NO_COLOR: '1', FORCE_COLOR: undefined },
        signal: stop.signal,
        timeoutMs: minutesMax * 60_000,
      },
    )
    const seconds = (performance.now() - since) / 1000
    shortest = Math.min(shortest, seconds)
    longest = Math.max(longest, seconds)
    const green = code === 0 && !timedOut
    say(
      `run ${i} of ${times}: ${green ? 'green' : 'red'}, ${seconds.toFixed(1)} s${green ? '' : failures(output, timedOut, i)}`,
    )
    if (!green) red++
  }
} finally {
  await Promise.all(loops.map((loop) => loop.terminate()))
}
say(`${times - red} of ${times} green, ${shortest.toFixed(1)} to ${longest.toFixed(1)} s`)
process.exitCode = red === 0 ? 0 : 1

/** What was asked for. Anything else ends the process with the usage. */
function readArguments() {
  const options = /** @type {const} */ ({
    times: { type: 'string', default: '20' },
    load: { type: 'string', default: '1' },
    shuffle: { type: 'boolean' },
  })
  try {
    const { values, positionals: files } = parseArgs({ options, allowPositionals: true })
    const [times, load] = [Number(values.times), Number(values.load)]
    if (
      files.length > 0 &&
      Number.isSafeInteger(times) &&
      times > 0 &&
      Number.isSafeInteger(load) &&
      load >= 0
    )
      return { files, times, load, shuffle: values.shuffle === true }
  } catch (error) {
    process.stderr.write(`${/** @type {Error} */ (error).message.split('.')[0]}.\n`)
  }
  process.stderr.write(
    'Usage: npm run test:flaky -- <file…> [--times <runs, default 20>] [--load <busy loops, default 1>] [--shuffle]\n',
  )
  process.exit(2)
}

/**
 * @param {string} output
 * @param {boolean} timedOut
 * @param {number} number
 */
function failures(output, timedOut, number) {
  mkdirSync(logs, { recursive: true })
  const log = join(logs, `run-${number}.log`)
  writeFileSync(log, output)
  const names = [...new Set(output.split('\n').filter((line) => /^\s*FAIL /.test(line)))]
  return `${timedOut ? `\n  It did not end within ${minutesMax} minutes.` : ''}\n${[...names, `  its output: ${relative(root, log)}`].join('\n')}`
}
