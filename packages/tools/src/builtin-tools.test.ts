import { execFileSync, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  type FilePart,
  openFolderInside,
  ToolFailure,
  ToolInputError,
  workspaceRoot,
} from '@beaver/agent/tool-kit'
import { toolContext } from '@beaver/testing'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type FileStats, typeOf } from './files/file-stats.ts'
import { type Figures, figureNames } from './files/figures.ts'
import { builtinTools } from './builtin-tools.ts'
import { builtinToolOptions, defaultBuiltinToolOptions } from './options.ts'
import type { FileList } from './files/list-files.ts'
import { checkCommand, type Recount, recountInProcess } from './files/recount-files.ts'

let workspace: string
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), 'beaver-tools-')))
})
afterEach(() => rm(workspace, { recursive: true, force: true }))

async function put(files: Record<string, string | Uint8Array>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(workspace, path)), { recursive: true })
    await writeFile(join(workspace, path), content)
  }
}

async function call<T>(
  name: string,
  args: unknown,
  signal: AbortSignal = new AbortController().signal,
): Promise<T> {
  const tool = builtinTools().find((each) => each.name === name)
  if (tool === undefined) throw new Error(name)
  return JSON.parse(await tool.invoke(args, toolContext({ workspace, signal }))) as T
}

/** The figures as the system has them, by another way than recount_files takes. */
function bySystem(folder = '.'): Figures {
  const options = {
    cwd: join(workspace, folder),
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    maxBuffer: 1e8,
  }
  const prune = [
    '.',
    '-type',
    'd',
    '(',
    '-name',
    '.git',
    '-o',
    '-name',
    'node_modules',
    '-o',
    '-name',
    '.beaver',
    ')',
    '-prune',
    '-o',
    '-type',
    'f',
    '-print0',
  ]
  const names = execFileSync('find', prune, options)
  const files = names.reduce((count, byte) => count + (byte === 0 ? 1 : 0), 0)
  if (files === 0) return { files, lines: 0, words: 0, bytes: 0 }
  const last =
    spawnSync('wc', ['-lwc', '--files0-from=-'], { ...options, input: names })
      .stdout.toString()
      .trimEnd()
      .split('\n')
      .at(-1) ?? ''
  const [lines = NaN, words = NaN, bytes = NaN] = last.trim().split(/\s+/).map(Number)
  return { files, lines, words, bytes }
}

const variety: Record<string, string | Uint8Array> = {
  'README.md': '# Title\n\nSome words, an em\u2014dash and a no-break\u00a0space.\n',
  'empty.txt': '',
  'no newline.txt': 'last line without end',
  'crlf.csv': 'a,b\r\n1,2\r\n',
  '中文.txt': '你好 世界\n字\u3000字\n',
  '-dash.ts': 'export {}\n',
  'line\nbreak.ts': 'a b c\n',
  total: '1 2 3 total\n',
  'tab\tcr\r 1 2 3 x.ts': 'x\n',
  '.gitignore': 'node_modules/\n',
  'src/.hidden/Makefile': 'all:\n\ttrue\n',
  'src/IMAGE.PNG': Uint8Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256),
  'node_modules/x/index.js': 'ignored\n',
  'src/node_modules/y.js': 'ignored\n',
  '.git/HEAD': 'ref: refs/heads/main\n',
  'docs/.beaver/state': 'ignored\n',
  'docs/node_modules.md': 'not ignored\n',
}

describe('list_files', () => {
  test('lists files with their bytes, nearest first, and names what it ignored', async () => {
    await put({
      'b.txt': 'xx',
      'a/deep/c.txt': 'x',
      'a/b.txt': '',
      '.git/HEAD': 'x',
      'a/node_modules/z': 'x',
    })
    const list = await call<FileList>('list_files', {})
    expect(list.entries).toEqual([
      { path: 'b.txt', kind: 'file', bytes: 2 },
      { path: 'a/b.txt', kind: 'file', bytes: 0 },
      { path: 'a/deep/c.txt', kind: 'file', bytes: 1 },
    ])
    expect(list.ignored).toEqual({ paths: ['.git', 'a/node_modules'], left_out: 0 })
    expect(list.entries_left_out).toBe(0)
  })

  test('says how many entries it left out', async () => {
    await put(Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`d/f${i}`, ''])))
    const list = await call<FileList>('list_files', { entries_max: 5 })
    expect([list.entries.length, list.entries_left_out]).toEqual([5, 7])
  })

  test('tells a folder it was kept out of by depth_max', async () => {
    await put({ 'a/b/c.txt': '', 'top.txt': '' })
    expect(
      (await call<FileList>('list_files', { depth_max: 1 })).entries.map(({ path, kind }) => [path, kind]),
    ).toEqual([
      ['a', 'folder'],
      ['top.txt', 'file'],
    ])
  })

  test('lists a symlink and does not follow it', async () => {
    await put({ 'a/x.txt': '' })
    await symlink('a', join(workspace, 'link'))
    expect((await call<FileList>('list_files', {})).entries).toContainEqual({ path: 'link', kind: 'symlink' })
    expect((await call<FileList>('list_files', {})).entries).toHaveLength(2)
  })

  test('paths of a sub-folder are relative to the workspace, so that read_file takes them', async () => {
    await put({ 'a/x.txt': 'hello' })
    const [entry] = (await call<FileList>('list_files', { path: 'a' })).entries
    expect((await call<FilePart>('read_file', { path: entry?.path })).text).toBe('hello')
  })

  test('refuses a file, an unknown folder and unknown arguments', async () => {
    await put({ x: '' })
    await expect(call('list_files', { path: 'x' })).rejects.toMatchObject({ code: 'not_a_folder' })
    await expect(call('list_files', { path: 'y' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(call('list_files', { folder: 'x' })).rejects.toBeInstanceOf(ToolInputError)
  })
})

describe('read_file', () => {
  test('reads in parts that never cut a character in two', async () => {
    const text = '中文字符 ✓ text '.repeat(20)
    await put({ x: text })
    let read = ''
    for (let offset: number | null = 0; offset !== null;) {
      const part: FilePart = await call('read_file', { path: 'x', offset, bytes_max: 7 })
      expect(part.encoding).toBe('utf-8')
      read += part.text
      offset = part.next_offset
    }
    expect(read).toBe(text)
  })

  test('says that a file is binary, and gives no text', async () => {
    await put({ x: Uint8Array.of(0x89, 0x50, 0, 1) })
    expect(await call('read_file', { path: 'x' })).toMatchObject({
      encoding: 'binary',
      bytes: 4,
      text: null,
      next_offset: null,
    })
  })

  test('shows what is not UTF-8 as U+FFFD and says so', async () => {
    await put({ x: Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x20) })
    expect(await call('read_file', { path: 'x' })).toMatchObject({
      encoding: 'not utf-8',
      text: 'caf\ufffd ',
    })
  })

  test('reads an empty file, and nothing beyond the end', async () => {
    await put({ x: '', y: 'abc' })
    expect(await call('read_file', { path: 'x' })).toMatchObject({ text: '', bytes: 0, next_offset: null })
    expect(await call('read_file', { path: 'y', offset: 9 })).toMatchObject({ text: '', next_offset: null })
  })

  test('refuses a folder, a named pipe and what lies outside', async () => {
    execFileSync('mkfifo', [join(workspace, 'pipe')])
    for (const path of ['.', 'pipe'])
      await expect(call('read_file', { path })).rejects.toMatchObject({ code: 'not_a_file' })
    await expect(call('read_file', { path: '../x' })).rejects.toBeInstanceOf(ToolFailure)
  })
})

describe('file_stats', () => {
  test('has the figures of find and wc', async () => {
    await put(variety)
    expect((await call<FileStats>('file_stats', {})).totals).toEqual(bySystem())
    expect((await call<FileStats>('file_stats', { path: 'src' })).totals).toEqual(bySystem('src'))
  })

  test('has the figures of find and wc whatever the folder holds', async () => {
    const name = fc
      .string({
        unit: fc.constantFrom('a', 'B', '.', ' ', '-', '\n', '中', "'", '*', '\\', '\r', 'é'),
        minLength: 1,
        maxLength: 12,
      })
      .filter((each) => each !== '.' && each !== '..')
    const content = fc.oneof(
      fc
        .array(
          fc.constantFrom(
            'word',
            ' ',
            '\n',
            '\r\n',
            '\u00a0',
            '\u2014',
            '中文',
            '\t',
            '\u3000',
            '\f',
            '\ufeff',
            '🦫',
            '\u0000',
            '\u2028',
          ),
          {
            maxLength: 80,
          },
        )
        .map((parts) => Buffer.from(parts.join(''))),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    )
    let run = 0
    await fc.assert(
      fc.asyncProperty(fc.dictionary(name, content, { maxKeys: 6 }), async (files) => {
        const folder = `run${run++}`
        await mkdir(join(workspace, folder))
        await put(
          Object.fromEntries(Object.entries(files).map(([path, bytes]) => [`${folder}/${path}`, bytes])),
        )
        const stats = await call<FileStats>('file_stats', { path: folder })
        const system = bySystem(folder)
        expect(stats.totals).toEqual(system)
        const { agrees, totals } = await call<Recount>('recount_files', {
          path: folder,
          expected: stats.totals,
        })
        expect({ agrees, totals }).toEqual({ agrees: true, totals: system })
        const inProcess = await recountedInProcess(folder)
        expect(inProcess).toEqual({ totals: system, problems: [] })
      }),
      { numRuns: 15 },
    )
  })

  test('the types add up to the totals', async () => {
    await put(variety)
    const { types, totals } = await call<FileStats>('file_stats', {})
    for (const figure of figureNames)
      expect(types.reduce((sum, type) => sum + type[figure], 0)).toBe(totals[figure])
    expect(types.map((type) => type.type)).toContain('.png')
  })

  test('names the five largest files, larger first and then by path', async () => {
    await put({ a: 'x'.repeat(5), c: 'x'.repeat(9), b: 'x'.repeat(9), d: '', e: 'x', f: 'xx', g: 'xxx' })
    expect((await call<FileStats>('file_stats', {})).largest.map(({ path, bytes }) => [path, bytes])).toEqual(
      [
        ['b', 9],
        ['c', 9],
        ['a', 5],
        ['g', 3],
        ['f', 2],
      ],
    )
  })

  test('an empty folder has zeros', async () => {
    expect(await call('file_stats', {})).toMatchObject({
      totals: { files: 0, lines: 0, words: 0, bytes: 0 },
      types: [],
      largest: [],
    })
  })

  test('does not follow symlinks and counts them apart', async () => {
    await put({ 'a.txt': 'one\n' })
    await symlink('a.txt', join(workspace, 'b.txt'))
    await symlink('/', join(workspace, 'root'))
    expect(await call('file_stats', {})).toMatchObject({ totals: { files: 1 }, symlinks_not_followed: 2 })
  })

  test('counts a file whose name is not UTF-8', async () => {
    await writeFile(Buffer.concat([Buffer.from(`${workspace}/caf`), Buffer.from([0xe9])]), 'one two\n')
    expect((await call<FileStats>('file_stats', {})).totals).toEqual({
      files: 1,
      lines: 1,
      words: 2,
      bytes: 8,
    })
    expect((await call<Recount>('recount_files', {})).totals).toEqual({
      files: 1,
      lines: 1,
      words: 2,
      bytes: 8,
    })
  })

  test('counts a file it may not read as a file and tells it', async () => {
    await put({ a: 'one\n', b: 'two\n' })
    await chmod(join(workspace, 'b'), 0)
    await chmod(workspace, 0o755)
    const stats = await asOrdinaryUser(() => call('file_stats', {}))
    expect(stats).toMatchObject({ totals: { files: 2, lines: 1 }, unreadable: { paths: ['b'] } })
  })

  test('sums up types beyond the fiftieth', async () => {
    await put(Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f.x${i}`, 'y'.repeat(i)])))
    const { types } = await call<FileStats>('file_stats', {})
    expect([types.length, types.at(-1)?.type, types.at(-1)?.files]).toEqual([50, '11 other types', 11])
  })

  test('stops within a file when the call is cancelled', async () => {
    await put({ large: '' })
    await truncate(join(workspace, 'large'), 20e9)
    const controller = new AbortController()
    const counting = call('file_stats', {}, controller.signal)
    setImmediate(() => controller.abort(new Error('cancelled')))
    await expect(counting).rejects.toThrow('cancelled')
  })

  test.each([
    ['a/b.TS', '.ts'],
    ['.gitignore', 'no extension'],
    ['a.b/Makefile', 'no extension'],
    ['a.', 'no extension'],
    ['x.tar.gz', '.gz'],
    ['.env.local', '.local'],
    ['notes.final draft', 'no extension'],
    ['a.文档', '.文档'],
  ])('%s is of type %s', (path, type) => {
    expect(typeOf(path)).toBe(type)
  })
})

describe('recount_files', () => {
  test('agrees with the figures of file_stats, by the system and in process', async () => {
    await put(variety)
    const { totals } = await call<FileStats>('file_stats', {})
    expect(await call('recount_files', { expected: totals })).toMatchObject({
      method: 'find and wc',
      totals,
      agrees: true,
      differences: [],
      problems: [],
    })
    expect((await recountedInProcess('.')).totals).toEqual(totals)
  })

  test('names each figure that differs', async () => {
    await put({ a: 'one two\n' })
    expect(
      await call('recount_files', { expected: { files: 1, lines: 2, words: 2, bytes: 9 } }),
    ).toMatchObject({
      agrees: false,
      differences: [
        { figure: 'lines', expected: 2, found: 1 },
        { figure: 'bytes', expected: 9, found: 8 },
      ],
    })
  })

  test('compares nothing when nothing is expected', async () => {
    expect(await call('recount_files', {})).toMatchObject({
      agrees: null,
      totals: { files: 0, lines: 0, words: 0, bytes: 0 },
    })
  })

  test('the command prints the same figures when it is pasted into a shell', async () => {
    await put({ ...variety, "it's/x y.txt": 'one\n' })
    for (const path of ['.', "it's", 'src/.hidden']) {
      const { command, totals } = await call<Recount>('recount_files', { path })
      expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe(
        `${totals.files} files, ${totals.lines} lines, ${totals.words} words, ${totals.bytes} bytes\n`,
      )
    }
    await mkdir(join(workspace, 'empty'))
    expect(execFileSync('sh', ['-c', checkCommand(join(workspace, 'empty'))], { encoding: 'utf8' })).toBe(
      '0 files, 0 lines, 0 words, 0 bytes\n',
    )
  })

  test('kills find and wc when the call is cancelled', async () => {
    const name = `large-${process.pid}`
    await put({ [name]: '' })
    await truncate(join(workspace, name), 200e9)
    const ofThis = new RegExp(`^ *${process.pid} wc -lwc /dev/fd/3$`, 'm')
    const running = (): boolean => ofThis.test(execFileSync('ps', ['-eo', 'ppid,args'], { encoding: 'utf8' }))
    const controller = new AbortController()
    const recount = call('recount_files', {}, controller.signal)
    await expect.poll(running).toBe(true)
    controller.abort(new Error('cancelled'))
    await expect(recount).rejects.toThrow('cancelled')
    await expect.poll(running).toBe(false)
  })
})

describe('the tools that are offered', () => {
  test('say whether they may be run twice, and which of them ask', () => {
    expect(
      builtinTools().map(({ name, idempotent, permission }) => [name, idempotent, permission ?? 'allow']),
    ).toEqual([
      ['list_files', true, 'allow'],
      ['read_file', true, 'allow'],
      ['view_image', true, 'allow'],
      ['write_file', false, 'ask'],
      ['file_stats', true, 'allow'],
      ['recount_files', true, 'allow'],
      ['web_fetch', true, 'allow'],
      ['echo', true, 'allow'],
      ['get_current_time', true, 'allow'],
      ['ask_user', true, 'allow'],
      ['memory', false, 'allow'],
      ['session_search', true, 'allow'],
      ['skill_view', true, 'allow'],
    ])
  })

  const places = { home: '/h', file: null, tools: [], skills: [], workflows: [], profiles: [] }

  test('are web_search and run_command only where the configuration has them', () => {
    const options = builtinToolOptions({
      ...places,
      web_search: { url: 'http://127.0.0.1:8888/search', timeout_ms: 100 },
      web_fetch: { private_hosts: [], bytes_max: 1_024, timeout_ms: 100 },
      run_command: { enabled: true, timeout_ms: 100, output_bytes_max: 1_024 },
    })
    const more = builtinTools(options).filter(
      ({ name }) => !builtinTools().some((each) => each.name === name),
    )
    expect(more.map(({ name, permission }) => [name, permission ?? 'allow'])).toEqual([
      ['web_search', 'allow'],
      ['run_command', 'ask'],
    ])
    expect(
      builtinToolOptions({
        ...places,
        web_fetch: { private_hosts: [], bytes_max: 2_097_152, timeout_ms: 20_000 },
        run_command: { enabled: false, timeout_ms: 30_000, output_bytes_max: 65_536 },
      }),
    ).toEqual({
      ...defaultBuiltinToolOptions,
      protected: { always: ['/h'], unlessAllowed: [] },
      sandbox: { ...defaultBuiltinToolOptions.sandbox, hidden: ['/h'] },
    })
  })
})

test('echo returns its text', async () => {
  expect(await call('echo', { text: 'hi\n' })).toEqual({ text: 'hi\n' })
})

async function recountedInProcess(path: string): Promise<{ totals: Figures; problems: string[] }> {
  await using folder = await openFolderInside(workspaceRoot(workspace), path)
  return await recountInProcess(folder, new AbortController().signal)
}

/** Root may read everything: steps down to nobody for as long as `act` runs. */
async function asOrdinaryUser<T>(act: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return act()
  const nobody = 65_534
  process.seteuid?.(nobody)
  try {
    return await act()
  } finally {
    process.seteuid?.(0)
  }
}
