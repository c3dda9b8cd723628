import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { permissionOf, type PermissionRule } from './tool-kit.ts'
import { ruleFaults } from './rule-faults.ts'
import type { Tool } from './tool.ts'

const tool = (name: string, subjectKind: Tool['subjectKind'], own = true): Tool => ({
  name,
  description: '',
  parameters: {},
  idempotent: false,
  ...(own ? { subject: (args: unknown) => args as string } : {}),
  ...(subjectKind === undefined ? {} : { subjectKind }),
  invoke: async () => '',
})
const tools = [
  tool('read_file', 'path'),
  tool('write_file', 'path'),
  tool('web_fetch', 'url'),
  tool('run_command', 'command'),
  tool('web_search', undefined),
  tool('send', undefined, false),
]
const rule = (text: string): PermissionRule => {
  const [decision, name = '', ...pattern] = text.split(' ')
  return {
    decision: decision as 'allow',
    tool: name,
    ...(pattern.length === 0 ? {} : { pattern: pattern.join(' ') }),
  }
}
const reasons = (...rules: string[]): string[] =>
  ruleFaults(rules.map(rule), { tools, beginnings: ['tracker_'] }).map(
    ({ place, reason }) => `${place}: ${reason}`,
  )

describe('a rule is reported that', () => {
  it.each([
    ['names no tool', 'deny raed_file *.env', 'no tool has such a name'],
    ['names a tool of no server', 'deny track_*', 'no tool has such a name'],
    ['names a profile’s id', 'deny system:read_file', 'without "system:"'],
    ['has an absolute path', 'deny read_file /etc/*', 'relative to the workspace'],
    ['has a drive', 'deny read_file C:/x', 'relative to the workspace'],
    ['goes up', 'deny read_file ../secret/*', 'never contains ".."'],
    ['goes up in the middle', 'deny r*_file a/../b', 'never contains ".."'],
    ['ends with a slash', 'deny write_file secret/', 'never ends with "/"'],
    ['begins with a dot', 'deny write_file ./secret', 'Leave it out'],
    ['has two slashes', 'deny write_file a//b', 'Leave it out'],
    ['has a host alone', 'deny web_fetch example.com*', 'begin with'],
    ['has another scheme', 'deny web_fetch ftp://example.com/*', 'begin with'],
    ['begins with a space', 'deny run_command  git', 'space'],
    ['has two spaces', 'deny run_command git  push*', 'one space'],
    ['allows several commands', 'allow run_command git status; id', 'single quotes'],
    ['allows a variable', 'allow run_command echo $HOME', 'single quotes'],
    ['is no JSON', 'deny send ann*', 'as JSON'],
    ['has an empty pattern', 'deny send ', 'is empty'],
  ])('%s', (_, text, words) => {
    expect(reasons(text)).toEqual([expect.stringContaining(words) as string])
  })

  it('comes after a rule that covers it', () => {
    expect(reasons('allow run_command git *', 'deny run_command git push*')).toEqual([
      '2: rule 1 (allow run_command git *) comes first and covers it',
    ])
    expect(reasons('ask *', 'deny read_file *.env')).toEqual(['2: rule 1 (ask *) comes first and covers it'])
    expect(reasons('ask *_file a*', 'deny read_file a*b')).toHaveLength(1)
    expect(reasons('ask *ead_file', 'deny read*')).toHaveLength(1)
  })

  it('names a tool that is off', () => {
    expect(ruleFaults([rule('deny run_command *')], { tools: [] })[0]?.reason).toBe(
      'run_command is off. "run_command.enabled" of the configuration turns it on',
    )
  })
})

it('other rules are not reported', () => {
  const rules = [
    'deny write_file *.env',
    'allow write_file reports/*',
    'ask write_file',
    'deny run_command git push*',
    'allow run_command echo *;*',
    "deny run_command sh -c 'a;  b'*",
    'deny run_command *;*',
    'ask run_command',
    'ask web_fetch https://internal.example/*',
    'deny web_fetch *internal*',
    'deny web_fetch HTTPS://Internal.Example.',
    'deny web_search 1 + 1',
    'deny tracker_delete*',
    'deny team_shared_state',
    'deny send {"to":"ann"*',
    'deny send *ann*',
    'ask read_file a*',
    'deny read_file *a',
    'deny tr* /x/',
    'ask *',
  ]
  expect(reasons(...rules)).toEqual([])
})

it('a rule that is reported holds for no call', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '*', '/', '.', ' ', ':', ';'), maxLength: 5 })
  const ofRule = fc.record({
    tool: fc.constantFrom('*', 'read_file', 'web_fetch', 'run_command', '*_f*'),
    pattern: text,
    decision: fc.constantFrom('allow' as const),
  })
  fc.assert(
    fc.property(
      fc.array(ofRule, { maxLength: 3 }),
      fc.constantFrom(...tools),
      fc.string({ unit: fc.constantFrom('a', '/', '.', ' ', ':', ';'), maxLength: 5 }),
      (rules, of, subject) => {
        const kind = of.subjectKind
        const real =
          kind === 'path'
            ? subject
                .split('/')
                .filter((part) => part !== '' && part !== '.' && part !== '..')
                .join('/') || '.'
            : kind === 'url'
              ? `https://h/${encodeURI(subject)}`
              : subject
        const decides = rules.findIndex(
          (each) => permissionOf({ ...of, permission: 'deny' }, real, [each]).decision === 'allow',
        )
        const faults = ruleFaults(rules, { tools }).map(({ place }) => place - 1)
        return kind === 'command' || !faults.includes(decides)
      },
    ),
    { numRuns: 3_000 },
  )
})
