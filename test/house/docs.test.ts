// The documentation, held to what is: links, commands, error codes; and no file tells where it was written.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { errorCodes, eventData } from '@beaver/core'
import { commandLine, faultOf, helpOf } from '../docs/command-line.ts'
import { commandsOf, headingFragments, relativeLinks, tableRows } from '../docs/markdown.ts'
import { privatePlaces } from '../docs/private-places.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const exists = (path: string): boolean => existsSync(`${root}${path}`)
const notOurs = /(?:^|\/)(?:node_modules|dist|coverage|\.git|\.beaver)(?:\/|$)/
const listed = (pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => notOurs.test(path) })
    .filter((path) => statSync(`${root}${path}`).isFile())
    .toSorted()

const pages = listed('**/*.md')
const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
const beaver = commandLine()

describe('the pages', () => {
  it('were found, the README and those under docs', () => {
    expect(pages).toEqual(expect.arrayContaining(['README.md', 'docs/ARCHITECTURE.md', 'docs/reference/errors.md', 'docs/how-to/operate.md']))
  })

  it.each(pages)('%s links to nothing that is not there', (page) => {
    const broken = relativeLinks(read(page)).filter(({ target, fragment }) => {
      const path = target === '' ? page : target.startsWith('/') ? target.slice(1) : posix.join(posix.dirname(page), target)
      return !exists(path) || (fragment !== null && path.endsWith('.md') && !headingFragments(read(path)).has(fragment))
    })
    expect(broken).toEqual([])
  })

  it.each(pages)('%s names only commands and options that exist', (page) => {
    const wrong = commandsOf(read(page), 'beaver').flatMap(({ line, args }) => {
      const fault = faultOf(args, beaver)
      return fault === null ? [] : [`${page}:${line} ${fault}`]
    })
    expect(wrong).toEqual([])
  })

  it.each(pages)('%s names only scripts and files that can be run', (page) => {
    const text = read(page)
    const named = [...commandsOf(text, 'npm'), ...commandsOf(text, 'pnpm')].map(({ line, args }) => ({ line, script: args[0] === 'run' ? args[1] : args[0] }))
    const noScript = named.filter(
      ({ script }) =>
        script !== undefined &&
        !script.startsWith('-') &&
        !['install', 'exec', 'pack', 'publish', 'add', 'init', 'pkg'].includes(script) &&
        !(script in scripts),
    )
    const noFile = commandsOf(text, 'node').filter(({ args }) => /^[\w./-]+\.(?:ts|mjs|js)$/.test(args[0] ?? '') && !exists(args[0] ?? ''))
    expect([...noScript, ...noFile]).toEqual([])
  })
})

describe('docs/reference/errors.md', () => {
  it('lists exactly the error codes, with their exit codes and meanings', () => {
    const rows = tableRows(read('docs/reference/errors.md'), ['code', 'exit', 'meaning', 'what to do'])
    expect(rows.map(({ code, exit, meaning }) => ({ code, exit, meaning }))).toEqual(
      Object.entries(errorCodes).map(([code, { exit, meaning }]) => ({ code: `\`${code}\``, exit: String(exit), meaning })),
    )
    expect(rows.filter((row) => (row['what to do'] ?? '') === '')).toEqual([])
  })
})

describe('docs/reference/events.md', () => {
  it('lists exactly the events a journal may hold', () => {
    const rows = tableRows(read('docs/reference/events.md'), ['events', 'what'])
    const named = rows.flatMap((row) => [...(row['events'] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name))
    expect(named.toSorted()).toEqual(Object.keys(eventData).toSorted())
  })
})

describe('no file', () => {
  const texts = listed('{*,.*,{apps,packages,bench,bin,docs,scripts,skills,test,examples,.ci}/**}').filter(
    (path) => !/\.(?:png|jpg|gif|ico|tsbuildinfo)$/.test(path),
  )

  it('tells places of one machine or registries of its own', () => {
    expect(texts.length).toBeGreaterThan(200)
    expect(texts.flatMap((path) => privatePlaces(read(path)).map((finding) => `${path}:${finding}`))).toEqual([])
  })

  it.each([
    ['a folder of a checkout', ['', 'work', 'main'].join('/')],
    ['a home folder', ['see ', 'home', 'someone', 'beaver'].join('/')],
    ['the home folder of root', ['', 'root', '.npmrc'].join('/')],
    ['a private registry', `https://${['registry', 'corp', 'net'].join('.')}/zod/-/zod.tgz`],
    ['a registry with a name and a password', `https://me:secret@${['npm', 'corp', 'net'].join('.')}/`],
    ['an address of an inner network', `http://${['10', '0', '0', '7'].join('.')}:4873/`],
    ['a token', ['//registry.example/:_auth', 'Token=abc'].join('')],
    ['the public registry', `https://${['registry', 'npmjs', 'org'].join('.')}/zod`],
  ])('holds %s unseen', (_, text) => expect(privatePlaces(`first line\n${text}`)).toHaveLength(1))

  it('is not seen in a reserved address, an address of this machine, or a path of the project', () => {
    expect(privatePlaces('https://registry.example/zod http://mirror.example/debian http://127.0.0.1:4222 docs/work/main ./root/x')).toEqual([])
  })
})

describe('a page that is wrong', () => {
  it('is seen by its links', () => {
    const page = [
      '[a](gone.md "why") and ![b](<pic.png>)',
      '[c]: other.md#part',
      '`[d](code.md)`',
      '```',
      '[e](fenced.md)',
      '```',
      '[f](https://nats.io) [g](#top)',
    ].join('\n')
    expect(relativeLinks(page).map(({ line, target, fragment }) => `${line} ${target} ${fragment}`)).toEqual([
      '1 gone.md null',
      '1 pic.png null',
      '2 other.md part',
      '7  top',
    ])
  })

  it('is seen by its fragments', () => {
    expect([...headingFragments('# One `two` (three)\n## Same\n## Same\n```\n# no heading\n```')]).toEqual(['one-two-three', 'same', 'same-1'])
  })

  it.each([
    ['$ beaver runn "a task"', 'there is no command "runn"'],
    ['beaver tasks --colour', '"tasks" has no option --colour'],
    ['NATS_URL=nats://x ./bin/beaver run --up --nonsense "a task"', '"run" has no option --nonsense'],
    ['beaver --home somewhere tasks -x', '"tasks" has no option -x'],
    ['beaver tasks --json | jq .x && beaver gone', 'there is no command "gone"'],
    ['npx beaver \\\n  show task_01k \\\n  --colour', '"show" has no option --colour'],
  ])('is seen by its command %s', (text, fault) => {
    expect(commandsOf(`\`\`\`sh\n${text}\n\`\`\``, 'beaver').map(({ args }) => faultOf(args, beaver))).toContain(fault)
  })

  it('is not suspected for what is right', () => {
    const text = [
      'beaver run --up --skill folder-report "Report on --this folder" # --comment',
      'beaver --home x tasks --limit=3 --json',
      'beaver show <task> --json',
      'echo beaver nonsense',
      'beaver --version',
      'beaver help run',
    ]
    const found = commandsOf(`\`\`\`sh\n${text.join('\n')}\n\`\`\`\nIn prose \`beaver doctor\`, not beaver nonsense.`, 'beaver')
    expect(found).toHaveLength(6)
    expect(found.map(({ args }) => faultOf(args, beaver)).filter((fault) => fault !== null)).toEqual([])
  })

  it('is seen by a command in its prose', () => {
    expect(commandsOf('type `beaver gone`', 'beaver').map(({ args }) => faultOf(args, beaver))).toEqual(['there is no command "gone"'])
  })
})

it('reads the options of a help text', () => {
  const { options } = helpOf(
    'Usage: x\n\nOptions:\n  -q, --quiet  only this\n  --limit <n>  at most\n               --not-an-option here\n\nExample:\n  beaver x --other',
  )
  expect([...options]).toEqual([
    ['-q', false],
    ['--quiet', false],
    ['--limit', true],
  ])
})
