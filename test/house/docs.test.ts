// The documentation, held to what is: links, commands, tables, examples, and pages that are generated; and no
// file tells where it was written.
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { wireEntries } from '@beaver/contracts/wire'
import { errorCodes, eventData, optimisations } from '@beaver/core'
import { dialects, overflowWordings } from '@beaver/testing'
import { createTeamWorkflowTools, findWorkflow, workflowErrorCodes } from '@beaver/workflows'
import { describe, expect, it } from 'vitest'
import { dialectsReference } from '../../scripts/lib/dialects-reference.ts'
import { metricsReference } from '../../scripts/lib/metrics-reference.ts'
import { wireReference } from '../../scripts/lib/wire-reference.ts'
import { commandLine, faultOf, helpOf } from '../docs/command-line.ts'
import { commandsOf, headingFragments, relativeLinks, tableRows } from '../docs/markdown.ts'
import { privatePlaces } from '../docs/private-places.ts'
import { rules } from '../mutations/table.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')
const exists = (path: string): boolean => existsSync(`${root}${path}`)
const notOurs = /(?:^|\/)(?:node_modules|dist|coverage|\.git|\.beaver)(?:\/|$)/
const listed = (pattern: string): string[] =>
  globSync(pattern, { cwd: root, exclude: (path) => notOurs.test(path) })
    .filter((path) => statSync(`${root}${path}`).isFile())
    .toSorted()

const pages = listed('**/*.md')
const texts = new Map(pages.map((page) => [page, read(page)]))
/** The scripts of this repository, and of a project that `beaver init` makes. */
const scripts: Record<string, string> = Object.assign(
  {},
  ...['package.json', 'templates/init/package.json'].map(
    (file) => (JSON.parse(read(file)) as { scripts: Record<string, string> }).scripts,
  ),
)
const beaver = commandLine()

describe('the pages', () => {
  it('were found, the README and those under docs', () => {
    expect(pages).toEqual(
      expect.arrayContaining([
        'README.md',
        'docs/ARCHITECTURE.md',
        'docs/reference/errors.md',
        'docs/how-to/operate.md',
        'docs/how-to/operate/find-out.md',
      ]),
    )
  })

  it('link to nothing that is not there', () => {
    const fragments = new Map<string, ReturnType<typeof headingFragments>>()
    const has = (page: string, fragment: string): boolean => {
      const known = fragments.get(page) ?? headingFragments(read(page))
      fragments.set(page, known)
      return known.has(fragment)
    }
    const broken = [...texts].flatMap(([page, text]) =>
      relativeLinks(text).flatMap(({ line, target, fragment }) => {
        const path =
          target === ''
            ? page
            : target.startsWith('/')
              ? target.slice(1)
              : posix.join(posix.dirname(page), target)
        const isThere = exists(path) && (fragment === null || !path.endsWith('.md') || has(path, fragment))
        return isThere ? [] : [`${page}:${line} ${target}${fragment === null ? '' : `#${fragment}`}`]
      }),
    )
    expect(broken).toEqual([])
  })

  it('name only commands and options that exist', () => {
    const wrong = [...texts].flatMap(([page, text]) =>
      commandsOf(text, 'beaver').flatMap(({ line, args }) => {
        const fault = faultOf(args, beaver)
        return fault === null ? [] : [`${page}:${line} ${fault}`]
      }),
    )
    expect(wrong).toEqual([])
  })

  it('name only scripts and files that can be run', () => {
    const ofTheManager = ['install', 'exec', 'pack', 'publish', 'add', 'init', 'pkg']
    const wrong = [...texts].flatMap(([page, text]) => {
      const named = [...commandsOf(text, 'npm'), ...commandsOf(text, 'pnpm')].map(({ line, args }) => ({
        line,
        script: args[0] === 'run' ? args[1] : args[0],
      }))
      const noScript = named.filter(
        ({ script }) =>
          script !== undefined &&
          !script.startsWith('-') &&
          !ofTheManager.includes(script) &&
          !(script in scripts),
      )
      const noFile = commandsOf(text, 'node').filter(
        ({ args }) => /^[\w./-]+\.(?:ts|mjs|js)$/.test(args[0] ?? '') && !exists(args[0] ?? ''),
      )
      return [...noScript, ...noFile].map((each) => ({ page, ...each }))
    })
    expect(wrong).toEqual([])
  })
})

describe('docs/decisions', () => {
  const records = listed('docs/decisions/0*.md').map((path) => ({
    name: posix.basename(path),
    text: read(path),
  }))

  it('lists exactly the records, with their titles, dates and statuses', () => {
    const rows = tableRows(read('docs/decisions/README.md'), ['record', 'decision', 'date', 'status'])
    expect(rows.map((row) => Object.values(row))).toEqual(
      records.map(({ name, text }) => {
        const [, title, date, status] = /^# \d+\. (.+)\n\nDate: (\S+)\. Status: ([^.]+)\./.exec(text) ?? []
        return [`[${name.slice(0, 4)}](${name})`, title, date, status]
      }),
    )
  })

  it('has records of one form, each of fewer than 400 words', () => {
    const sections = ['## Context', '## Options', '## Decision', '## Consequences']
    for (const { name, text } of records) {
      expect([name, ...(text.match(/^## .+$/gm) ?? [])]).toEqual([name, ...sections])
      const words = text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word))
      expect(words.length, `${name} has ${words.length} words`).toBeLessThan(400)
    }
  })
})

describe('docs/reference/errors.md', () => {
  it('lists exactly the error codes, with their exit codes and meanings', () => {
    const rows = tableRows(read('docs/reference/errors.md'), ['code', 'exit', 'meaning', 'what to do'])
    expect(rows.map(({ code, exit, meaning }) => ({ code, exit, meaning }))).toEqual(
      Object.entries(errorCodes).map(([code, { exit, meaning }]) => ({
        code: `\`${code}\``,
        exit: String(exit),
        meaning,
      })),
    )
    expect(rows.filter((row) => (row['what to do'] ?? '') === '')).toEqual([])
  })
})

describe('docs/reference/events.md', () => {
  it('lists exactly the events a journal may hold', () => {
    const rows = tableRows(read('docs/reference/events.md'), ['events', 'what'])
    const named = rows.flatMap((row) =>
      [...(row['events'] ?? '').matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
    )
    expect(named.toSorted()).toEqual(Object.keys(eventData).toSorted())
  })
})

describe('docs/reference/dialects.md', () => {
  const page = read('docs/reference/dialects.md')

  it('is what the generator makes', () => {
    expect(page === dialectsReference(), 'Run "pnpm docs:dialects" and commit the page.').toBe(true)
  })

  it('has every dialect and wording, and a source for each', () => {
    const rows = page.split('\n').filter((line) => line.includes('](https://'))
    for (const { name } of dialects) expect(rows.some((row) => row.startsWith(`| ${name} |`))).toBe(true)
    for (const { server } of overflowWordings)
      expect(rows.some((row) => row.startsWith(`| ${server} |`))).toBe(true)
  })
})

describe('docs/reference/metrics.md', () => {
  it('is what the generator makes', () => {
    const page = read('docs/reference/metrics.md')
    expect(page === metricsReference(), 'Run "pnpm docs:metrics" and commit the page.').toBe(true)
  })
})

describe('docs/reference/wire.md', () => {
  const page = read('docs/reference/wire.md')

  it('is what the generator makes', () => {
    expect(page === wireReference(), 'Run "pnpm docs:wire" and commit the page.').toBe(true)
  })

  it('has a section for every request, query, live message, event and command', () => {
    const titles = new Set([...page.matchAll(/^### (?:\w+ )?(\S+)$/gm)].map(([, name]) => name))
    expect(wireEntries().filter(({ name }) => !titles.has(name))).toEqual([])
  })

  it('tells what a client needs to decide about a call and to follow a task live', () => {
    for (const text of [
      '`beaver.<namespace>.service.<tenant>.<caller>.task.decide`',
      '`beaver.<namespace>.live.<tenant>.<session_id>.<task_id>`',
      '| `stream` |',
      '| `approvals` |',
    ])
      expect(page).toContain(text)
  })
})

describe('docs/reference/workflows.md', () => {
  const text = read('docs/reference/workflows.md')
  const sections = text.split(/^## /m).slice(1)
  const examples = sections.flatMap((section) => {
    const [name = ''] = section.split('\n')
    return [...section.matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(
      ([, example = '']) => [name, example] as const,
    )
  })

  it('has a section with an example for each workflow tool, and says when to choose it', () => {
    const names = createTeamWorkflowTools().map(({ name }) => name)
    expect(examples.map(([name]) => name)).toEqual(expect.arrayContaining(names))
    const chosen = tableRows(text, ['you have', 'choose']).map((row) => row['choose'])
    for (const name of names) expect(chosen).toContain(`[${name}](#${name.toLowerCase()})`)
  })

  it.each(examples.filter(([name]) => findWorkflow(name) !== null))(
    '%s: the example is accepted',
    (name, example) => {
      const result = findWorkflow(name)?.plan(JSON.parse(example))
      expect(result?.ok === true ? null : result?.error.message).toBeNull()
    },
  )

  it('lists the codes of refused calls, each with its meaning and what to do', () => {
    const rows = tableRows(text, ['code', 'meaning', 'what to do'])
    expect(rows.map(({ code, meaning }) => ({ code, meaning }))).toEqual(
      rules.map((code) => ({ code: `\`${code}\``, meaning: workflowErrorCodes[code] })),
    )
    expect(rows.filter((row) => (row['what to do'] ?? '') === '')).toEqual([])
  })
})

describe('docs/explanation/optimisations.md', () => {
  /** Of the rows of the tables: where it lives, and the switch, if it has one. */
  const rows = read('docs/explanation/optimisations.md')
    .split('\n')
    .flatMap((line) => {
      const [, where = '', , , , switchText = ''] = line.split(' | ')
      const [path] = /(?:packages|apps|patches|scripts)\/[\w./-]+/.exec(where) ?? []
      return path === undefined ? [] : [{ path, name: /`(\w+)`/.exec(switchText)?.[1] ?? null }]
    })

  it('names files that are there', () => {
    expect(rows.length).toBeGreaterThan(optimisations.length)
    expect(rows.filter(({ path }) => !exists(path))).toEqual([])
  })

  it('has one row for each switch', () => {
    expect(rows.flatMap(({ name }) => name ?? []).toSorted()).toEqual([...optimisations].toSorted())
  })

  it('names the one file in which each switch is asked for', () => {
    const isSource = (path: string): boolean =>
      !path.endsWith('.test.ts') && !path.endsWith('optimisations.ts')
    const sources = listed('{packages,apps}/*/src/**/*.ts').filter(isSource)
    const asked = sources.flatMap((path) =>
      [...read(path).matchAll(/isOn\('(\w+)'\)/g)].map(([, name = '']) => ({
        path: path.replaceAll('\\', '/'),
        name,
      })),
    )
    for (const name of optimisations.filter((each) => each !== 'v8_flags'))
      expect([name, ...new Set(asked.flatMap((each) => (each.name === name ? [each.path] : [])))]).toEqual([
        name,
        rows.find((row) => row.name === name)?.path,
      ])
  })
})

describe('no file', () => {
  const files = listed('{*,.*,{apps,packages,bench,bin,docs,scripts,skills,test,examples,.ci}/**}').filter(
    (path) => !/\.(?:png|jpg|gif|ico|tsbuildinfo)$/.test(path),
  )

  it('tells places of one machine or registries of its own', () => {
    expect(files.length).toBeGreaterThan(200)
    expect(files.flatMap((path) => privatePlaces(read(path)).map((finding) => `${path}:${finding}`))).toEqual(
      [],
    )
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
    expect(
      privatePlaces(
        'https://registry.example/zod http://mirror.example/debian http://127.0.0.1:4222 docs/work/main ./root/x',
      ),
    ).toEqual([])
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
    expect([...headingFragments('# One `two` (three)\n## Same\n## Same\n```\n# no heading\n```')]).toEqual([
      'one-two-three',
      'same',
      'same-1',
    ])
  })

  it.each([
    ['$ beaver runn "a task"', 'there is no command "runn"'],
    ['beaver tasks --colour', '"tasks" has no option --colour'],
    ['NATS_URL=nats://x ./bin/beaver run --up --nonsense "a task"', '"run" has no option --nonsense'],
    ['beaver --home somewhere tasks -x', '"tasks" has no option -x'],
    ['beaver tasks --json | jq .x && beaver gone', 'there is no command "gone"'],
    ['npx beaver \\\n  show task_01k \\\n  --colour', '"show" has no option --colour'],
  ])('is seen by its command %s', (text, fault) => {
    expect(
      commandsOf(`\`\`\`sh\n${text}\n\`\`\``, 'beaver').map(({ args }) => faultOf(args, beaver)),
    ).toContain(fault)
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
    const found = commandsOf(
      `\`\`\`sh\n${text.join('\n')}\n\`\`\`\nIn prose \`beaver doctor\`, not beaver nonsense.`,
      'beaver',
    )
    expect(found).toHaveLength(6)
    expect(found.map(({ args }) => faultOf(args, beaver)).filter((fault) => fault !== null)).toEqual([])
  })

  it('is seen by a command in its prose', () => {
    expect(commandsOf('type `beaver gone`', 'beaver').map(({ args }) => faultOf(args, beaver))).toEqual([
      'there is no command "gone"',
    ])
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
