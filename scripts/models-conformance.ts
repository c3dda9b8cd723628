// `pnpm conformance:models`: asks a server of models what a team of agents needs, prints what it saw, and
// writes what the server really said. What is asked and how it is judged is in test/conformance/models.
// `--help` lists the options. Exit code 0 only if everything that a team needs was seen and nothing is wrong;
// 1 if not; 2 for wrong usage. The key comes from a variable, and neither the output nor the file contains
// it.
import { writeFileSync } from 'node:fs'
import { messageOf, safeJson } from '@beaver/core'
import { httpPost, openAiBaseUrl } from '@beaver/providers/endpoint'
import { cleaner } from '../test/conformance/models/clean.ts'
import { type Options, readOptions, usageText } from '../test/conformance/models/options.ts'
import { jsonOf, tableOf } from '../test/conformance/models/report.ts'
import { isFit, runProbes } from '../test/conformance/models/run-probes.ts'
import { seenServerOf, seenText } from '../test/conformance/models/seen-server.ts'

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const complain = (text: string): void => void process.stderr.write(`${text}\n`)

const options = readOptions(process.argv.slice(2), process.env)
if ('help' in options) say(usageText)
else if ('fault' in options) {
  complain(`${options.fault}\n\nSee all options:\n  pnpm conformance:models -- --help`)
  process.exitCode = 2
} else process.exitCode = await probe(options)

async function probe({ server, name, standIn, write, json, stepMsMax, runMsMax }: Options): Promise<number> {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => stop.abort(new Error(`${signal} stopped it`)))
  const timer = setTimeout(
    () => stop.abort(new Error(`the ${runMsMax} ms of --timeout-ms are over`)),
    runMsMax,
  )
  const at = { ...server, baseURL: server.baseURL ?? openAiBaseUrl }
  const http = httpPost()
  const begun = performance.now()
  const run = await runProbes(server, () => http, { stepMsMax, signal: stop.signal })
  clearTimeout(timer)
  const reported = { run, server: at, name: name ?? new URL(at.baseURL).host, ms: performance.now() - begun }
  if (json) say(safeJson(JSON.stringify(jsonOf(reported))))
  else if (run.failure === null) for (const line of tableOf(reported)) say(line)
  if (run.failure !== null) complain(run.failure)
  else if (write !== null && name !== null) {
    const day = new Date().toISOString().slice(0, 10)
    try {
      writeFileSync(write, seenText(seenServerOf(run, at, server.baseURL === null, { name, standIn, day })))
      if (!json) say(`What the server said is in ${write}. Look through it before you commit it.`)
    } catch (error) {
      complain(cleaner(at)(`The file cannot be written: ${messageOf(error)}`))
      return 1
    }
  }
  return isFit(run) ? 0 : 1
}
