// A descriptor that the parent of Beaver left open on a folder leads around every wall: no program may get it.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNatsServer } from '@beaver/nats'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const at = (path: string): string => new URL(`../../${path}`, import.meta.url).href

/** A tool in a process, which lists its own descriptors and those of a program that it starts. */
const tool = `
import { execFileSync } from 'node:child_process'
import { readdirSync, readlinkSync } from 'node:fs'
import { defineTool } from ${JSON.stringify(at('packages/agent/src/tools/tool-kit.ts'))}
import { z } from ${JSON.stringify(import.meta.resolve('zod'))}
const target = (each) => { try { return readlinkSync('/proc/self/fd/' + each) } catch { return '' } }
export const look = defineTool({
  name: 'look', description: 'Looks around.', isolation: 'process', permission: 'allow', input: z.strictObject({}),
  run: () => JSON.stringify({
    own: readdirSync('/proc/self/fd').filter((each) => target(each).endsWith('left-open')),
    started: execFileSync('sh', ['-c', 'ls /proc/$$/fd; :'], { encoding: 'utf8' }),
  }),
})`

/** What a program that embeds Beaver starts, with the descriptors of each. */
const program = `
import { readdirSync, readlinkSync } from 'node:fs'
const [folder, binary] = process.argv.slice(-2)
const { runCommand } = await import(${JSON.stringify(at('packages/tools/src/command/run-command.ts'))})
const { loadTools } = await import(${JSON.stringify(at('packages/agent/src/tools/load-tools.ts'))})
const { toolContext } = await import(${JSON.stringify(at('packages/testing/src/tool-context.ts'))})
const { childTransport, confineServer } = await import(${JSON.stringify(at('packages/mcp/src/client/child-transport.ts'))})
const { startEmbeddedServer } = await import(${JSON.stringify(at('packages/nats/src/embedded-server.ts'))})
const { startSimulatedModelProcess } = await import(${JSON.stringify(at('packages/simulated-model/src/process.ts'))})
const { systemClock } = await import(${JSON.stringify(at('packages/core/src/index.ts'))})
const workspace = folder + '/workspace'
const list = 'exec >&2; ls /proc/$$/fd; :'
const context = toolContext({ workspace })
const leftOpen = (pid) => readdirSync('/proc/' + pid + '/fd').filter((each) => {
  try { return readlinkSync('/proc/' + pid + '/fd/' + each).endsWith('left-open') } catch { return false }
})
const found = {}
for (const mode of ['off', 'required']) {
  const sandbox = { mode, hidden: [], readable: [] }
  const command = runCommand({ enabled: true, timeoutMs: 60_000, outputBytesMax: 65_536, tmpBytesMax: 67_108_864, network: [] }, sandbox)
  found['run_command, sandbox ' + mode] = JSON.parse(await command.invoke({ command: 'sh', args: ['-c', list] }, context)).stderr
  const { tools } = await loadTools([], [folder + '/module/look.mjs'], { sandbox })
  const { own, started } = JSON.parse(await tools[0].invoke({}, context))
  found['a cell, sandbox ' + mode] = own
  found['a program of a cell, sandbox ' + mode] = started
  const server = { kind: 'program', command: '/bin/sh', args: ['-c', list], env: { PATH: process.env.PATH }, cwd: undefined }
  const transport = childTransport(await confineServer(server, { network: false, env: {} }, sandbox), { clock: systemClock, groups: new Set() })
  const ended = new Promise((resolve) => (transport.onclose = resolve))
  await transport.start()
  await ended
  found['an MCP server, sandbox ' + mode] = transport.stderrTail
}
const nats = await startEmbeddedServer({ binary, dataDir: folder + '/nats' })
found['nats-server'] = leftOpen(nats.pid)
await nats.stop()
const model = await startSimulatedModelProcess()
found['the simulated model'] = leftOpen(model.pid)
await model.close()
console.log(JSON.stringify({ own: leftOpen('self'), found }))`

let folder: string
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'beaver-descriptors-')))
  for (const name of ['workspace', 'module', 'nats', 'left-open']) await mkdir(join(folder, name))
  await writeFile(join(folder, 'module', 'look.mjs'), tool)
  await writeFile(join(folder, 'program.mjs'), program)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe.runIf(process.platform === 'linux')('a descriptor that the parent left open', () => {
  it('reaches no program, in the sandbox and without one, and stays open in the embedding program', async () => {
    const script = 'exec 200< "$1"; shift; exec "$@"'
    const { binary } = await findNatsServer(process.env['BEAVER_NATS_SERVER'] ?? null, process.env['PATH'])
    const run = ['bash', '-c', script, 'bash', join(folder, 'left-open'), process.execPath]
    const child = spawn(run[0] ?? '', [...run.slice(1), join(folder, 'program.mjs'), folder, binary], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const said = Buffer.concat(await child.stdout.toArray()).toString()
    const none: string[] = []
    const three = '0\n1\n2\n'
    expect(JSON.parse(said)).toEqual({
      own: ['200'],
      found: {
        'run_command, sandbox off': three,
        'run_command, sandbox required': three,
        'a cell, sandbox off': none,
        'a cell, sandbox required': none,
        'a program of a cell, sandbox off': three,
        'a program of a cell, sandbox required': three,
        'an MCP server, sandbox off': three,
        'an MCP server, sandbox required': three,
        'nats-server': none,
        'the simulated model': none,
      },
    })
  })
})
