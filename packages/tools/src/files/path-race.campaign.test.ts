// A program beside the tools exchanges folders and files of the workspace for links that lead out. No tool
// may read or write outside.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile as read, realpath, rm, writeFile as write } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Tool, ToolFailure } from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { fileStats } from './file-stats.ts'
import { listFiles } from './list-files.ts'
import { readFile } from './read-file.ts'
import { recountFiles } from './recount-files.ts'
import { writeFile } from './write-file.ts'
import { defaultBuiltinToolOptions } from '../options.ts'

const secret = 'what is outside and nobody may read'.repeat(100)

let base: string
let workspace: string
let outside: string
let racer: ChildProcess
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'beaver-race-')))
  workspace = join(base, 'workspace')
  outside = join(base, 'outside')
  await mkdir(join(workspace, 'dir'), { recursive: true })
  await mkdir(outside)
  for (const [at, content] of [[workspace, 'inside'], [outside, secret]] as const) await write(join(at, at === workspace ? 'dir/secret' : 'secret'), content) // prettier-ignore
  await write(join(workspace, 'file'), 'inside')
  await write(join(outside, 'only-outside'), secret)
  racer = spawn(
    process.execPath,
    [fileURLToPath(new URL('../../test/path-racer.ts', import.meta.url)), workspace, outside],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  await once(racer.stdout ?? racer, 'data')
})
afterEach(async () => {
  const ended = once(racer, 'exit')
  racer.kill('SIGKILL')
  await ended
  await rm(base, { recursive: true })
})

interface Rounds {
  readonly outside: number
  readonly done: number
  readonly refused: number
}

/** Calls the tool again and again, and counts the answers that hold something from outside. */
async function race(
  tool: Tool,
  args: readonly object[],
  isOutside: (answer: string) => boolean,
  rounds = 1_000,
): Promise<Rounds> {
  const counts = { outside: 0, done: 0, refused: 0 }
  for (let round = 0; round < rounds; round++) {
    try {
      const answer = await tool.invoke(args[round % args.length], toolContext({ workspace }))
      if (isOutside(answer)) counts.outside++
      else counts.done++
    } catch (error) {
      if (!(error instanceof ToolFailure)) throw error
      counts.refused++
    }
  }
  return counts
}

it.each<[tool: Tool, args: readonly object[], isOutside: (answer: string) => boolean, rounds?: number]>([
  [readFile, [{ path: 'dir/secret' }, { path: 'file' }], (answer) => answer.includes('outside')],
  [
    listFiles,
    [{ path: 'dir' }, { path: '.' }],
    (answer) => answer.includes('only-outside') || answer.includes(String(secret.length)),
  ],
  [fileStats, [{ path: 'dir' }, { path: '.' }], (answer) => answer.includes(String(secret.length)), 300],
  [
    recountFiles,
    [{ path: 'dir' }, { path: '.' }],
    (answer) => (JSON.parse(answer) as { totals: { bytes: number } }).totals.bytes >= secret.length,
    60,
  ],
])('$name reads nothing outside', async (tool, args, isOutside, rounds) => {
  const counts = await race(tool, args, isOutside, rounds)
  expect(counts).toMatchObject({ outside: 0 })
  expect(counts.done).toBeGreaterThan(5)
})

it('write_file writes nothing outside', async () => {
  for (const mode of ['overwrite', 'append', 'create']) {
    const counts = await race(writeFile(defaultBuiltinToolOptions.protected), [{ path: 'dir/secret', content: 'x', mode }, { path: 'file', content: 'x', mode }, { path: 'dir/sub/new', content: 'x', mode }], () => false) // prettier-ignore
    expect(counts.done + counts.refused).toBeGreaterThan(100)
  }
  expect((await readdir(outside)).toSorted()).toEqual(['only-outside', 'secret'])
  expect(await read(join(outside, 'secret'), 'utf8')).toBe(secret)
})
