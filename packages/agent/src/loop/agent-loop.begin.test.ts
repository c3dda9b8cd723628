import type { ContextPart } from '@beaver/core'
import { calls, hangsPaid, held, memoryHost, rootSpec, says, until, workerSpec } from '@beaver/testing'
import { describe, expect, it } from 'vitest'
import { begin, guided, type Loop, resumed, sequential, teamResult, turns } from '../../test/loop-kit.ts'
import { type ChatAnswer, ProviderError } from '../provider/chat-provider.ts'
import type { Skill } from '../skills/skill.ts'

const plain: Skill = {
  ...guided,
  name: 'count-words',
  description: 'Counts the words of a folder.',
  body: 'Count them.',
  sha256: 'y',
  guidance: null,
}
const staged: Skill = {
  ...guided,
  name: 'folder-report',
  description: 'Reports on the words of a folder.',
  sha256: 'z',
}
const skills = [plain, staged]
const text = 'Count the words of this folder.'
const chooses = (...names: string[]): Partial<ChatAnswer> => says(JSON.stringify({ skills: names }))
const selection = (loop: Loop) =>
  loop.host.events.find((event) => event.type === 'skill_selection_recorded')?.data
const activated = (loop: Loop) =>
  loop.host.events.flatMap((event) =>
    event.type === 'skill_activation_snapshotted' ? event.data.skills.map(({ name }) => name) : [],
  )
const given = { skills, skillSelection: 'model' as const, spec: rootSpec({ part: { text } }) }

describe('skills of a run that names none', () => {
  it('are chosen once, after the start of the run is durable, recorded before they are activated, in the order of AL-10', async () => {
    const loop = begin({ ...given, replies: [says('12')], auxiliary: [chooses('count-words')] })
    expect(await loop.end).toMatchObject({ status: 'completed', usage: { calls: 2 } })
    expect(loop.host.entries.slice(0, 2).map((entry) => entry.map(({ type }) => type))).toEqual([
      ['run_started'],
      [
        'skill_selection_recorded',
        'skill_activation_snapshotted',
        'system_prompt_snapshotted',
        'user_message_added',
      ],
    ])
    expect(selection(loop)).toMatchObject({
      query: text,
      recall: 'lexical',
      chosen: ['count-words'],
      provider_name: 'helper',
      failure: null,
    })
    expect(loop.provider.requests[0]?.messages.map(({ content }) => content?.slice(0, 25))).toEqual([
      expect.stringContaining('You are'),
      '<activated_skill name="co',
      text.slice(0, 25),
    ])
  })

  it('are asked of nobody before the start of the run is durable', async () => {
    const host = memoryHost()
    host.hold()
    const loop = begin({ ...given, host, replies: [says('12')], auxiliary: [chooses('count-words')] })
    await until('the start waits', () => host.waiting.length === 1)
    await turns()
    expect([loop.auxiliary.requests.length, host.waiting]).toEqual([0, [['run_started']]])
    host.settle()
    await until('the model is asked', () => loop.auxiliary.requests.length === 1)
    loop.cancel()
  })

  it('that fit none are none: the choice is on record, and no activation', async () => {
    const loop = begin({ ...given, replies: [says('12')], auxiliary: [chooses()] })
    await loop.end
    expect([selection(loop)?.chosen, activated(loop)]).toEqual([[], []])
  })

  it('of which nothing is recalled are not asked for, and nothing is recorded', async () => {
    const loop = begin({
      ...given,
      replies: [says('x')],
      auxiliary: [],
      spec: rootSpec({ part: { text: 'zzz' } }),
    })
    await loop.end
    expect(loop.host.types).not.toContain('skill_selection_recorded')
  })

  it('that cannot be chosen are none, and the record says why', async () => {
    const loop = begin({
      ...given,
      replies: [says('12')],
      auxiliary: [new ProviderError('context_overflow', 'too long')],
    })
    expect((await loop.end).status).toBe('completed')
    expect(selection(loop)).toMatchObject({
      chosen: [],
      failure: { class: 'context_overflow', message: 'too long' },
    })
  })

  it('are not looked for when a skill is named, or when nothing is to be selected', async () => {
    const named = begin({
      ...given,
      replies: [says('x')],
      auxiliary: [],
      spec: rootSpec({ part: { text, skill: 'count-words' } }),
    })
    const off = begin({ ...given, replies: [says('x')], auxiliary: [], skillSelection: 'off' })
    await Promise.all([named.end, off.end])
    expect([activated(named), activated(off)]).toEqual([['count-words'], []])
  })

  it('of a worker follow from its query, never a skill that guides a team; without a query there are none', async () => {
    const queried = begin({
      ...given,
      replies: [says('x')],
      auxiliary: [chooses('folder-report', 'count-words')],
      spec: workerSpec({ part: { skillQuery: text } }),
    })
    const silent = begin({ ...given, replies: [says('x')], auxiliary: [], spec: workerSpec() })
    await Promise.all([queried.end, silent.end])
    expect(activated(queried)).not.toContain('folder-report')
    expect(selection(queried)?.candidates.map(({ name }) => name)).toEqual(['count-words'])
    expect(silent.host.types).not.toContain('skill_selection_recorded')
  })

  it('route a root that was given one with guidance', async () => {
    const host = memoryHost({ runTeam: async () => teamResult })
    const loop = begin({
      ...given,
      host,
      replies: [calls(['SequentialWorkflow', sequential]), says('x')],
      auxiliary: [chooses('folder-report')],
    })
    await loop.end
    expect(loop.host.events.find((event) => event.type === 'execution_mode_selected')?.data).toMatchObject({
      primary_template_skill: 'folder-report',
    })
    expect(loop.provider.requests[0]?.messages[0]?.content).toContain('Task Agent Team Routing')
  })

  it('are not chosen when the run is cancelled meanwhile: it begins, and ends', async () => {
    const loop = begin({ ...given, replies: [], auxiliary: [held<Partial<ChatAnswer>>().promise] })
    await until('the choice is asked for', () => loop.auxiliary.requests.length === 1)
    loop.cancel()
    expect((await loop.end).status).toBe('cancelled')
    expect(loop.host.types[0]).toBe('run_started')
  })

  it('that the run is cancelled for are paid: what was sent is recorded', async () => {
    const usage = { input_tokens: 90, output_tokens: 4, calls: 1, estimated_calls: 1 }
    const loop = begin({ ...given, replies: [], auxiliary: [hangsPaid({ usage, model: 'small' })] })
    await until('the choice is asked for', () => loop.auxiliary.requests.length === 1)
    loop.cancel()
    expect(await loop.end).toMatchObject({ status: 'cancelled', usage })
    expect(loop.host.events.find(({ type }) => type === 'model_call_paid')?.data).toEqual({
      ...{ purpose: 'skill_selection', usage, provider_name: 'helper', model: 'small' },
    })
  })
})

describe('taken up again before its first answer', () => {
  const host = () => memoryHost({ runTeam: async () => teamResult })
  const begun = async () => {
    const first = begin({
      ...given,
      replies: [held<Partial<ChatAnswer>>().promise],
      auxiliary: [chooses('folder-report')],
    })
    await until('the model is asked', () => first.provider.requests.length === 1)
    first.cancel()
    return first.host.entries.slice(0, 2)
  }

  it('a run whose skills were being chosen has them chosen now, and begins once', async () => {
    const again = resumed((await begun()).slice(0, 1), {
      ...given,
      replies: [says('by myself')],
      auxiliary: [chooses('folder-report')],
    })
    expect((await again.end).status).toBe('completed')
    expect(activated(again)).toEqual(['folder-report'])
    expect(again.host.types.filter((type) => type === 'run_started')).toHaveLength(1)
  })

  it('a run has the skills on record: nothing is chosen again, and its first answer is classified by them', async () => {
    const again = resumed(await begun(), { ...given, replies: [says('by myself')], auxiliary: [] })
    await again.end
    expect(again.host.events.find((event) => event.type === 'execution_mode_selected')?.data).toMatchObject({
      execution_mode: 'single',
      primary_template_skill: 'folder-report',
    })
    expect(activated(again)).toEqual(['folder-report'])
  })

  it.each([
    ['is not loaded any more', []],
    ['has changed', [{ ...staged, sha256: 'other', guidance: null }]],
  ])('the guidance is that of the record when the skill %s', async (_, loaded) => {
    const body = `Text\n\`\`\`beaver-team-workflow\n${JSON.stringify(staged.guidance)}\n\`\`\`\n`
    const first = begin({
      replies: [held<Partial<ChatAnswer>>().promise],
      skills: [{ ...staged, body }],
      spec: rootSpec({ part: { skill: 'folder-report' } }),
    })
    await until('the model is asked', () => first.provider.requests.length === 1)
    first.cancel()
    const again = resumed(first.host.entries.slice(0, 1), { replies: [says('x')], skills: loaded })
    await again.end
    expect(again.host.types).toContain('execution_mode_selected')
  })

  it('the memory is that of the record', async () => {
    const spec = rootSpec({ memory: { user: ['likes tables'], memory: [] } })
    const first = begin({ replies: [held<Partial<ChatAnswer>>().promise], spec, host: host() })
    await until('the model is asked', () => first.provider.requests.length === 1)
    first.cancel()
    const again = resumed(first.host.entries.slice(0, 1), {
      replies: [says('x')],
      spec: { ...spec, memory: { user: ['likes prose'], memory: [] } },
    })
    await again.end
    expect(again.provider.requests[0]?.messages).toEqual(first.provider.requests[0]?.messages)
  })
})

describe('what the first prompt costs', () => {
  const costs = async (given_: Parameters<typeof begin>[0]): Promise<readonly ContextPart[]> => {
    const loop = begin(given_)
    await loop.end
    return loop.host.events.find((event) => event.type === 'system_prompt_snapshotted')?.data.context ?? []
  }

  it('is on record part by part, in the order in which the model reads them, without parts that cost nothing', async () => {
    const history = [{ role: 'user' as const, content: 'x'.repeat(400) }]
    const memory = { user: ['y'.repeat(40)], memory: [] }
    const all = await costs({
      replies: [says('x')],
      skills: [guided],
      spec: rootSpec({ history, memory, part: { skill: 'guided', text: '比较两家' } }),
    })
    expect(all.map(({ part }) => part)).toEqual([
      'base',
      'execution',
      'memory',
      'routing',
      'session',
      'skills',
      'history',
      'message',
      'tools',
    ])
    expect(all.filter(({ part }) => part === 'history' || part === 'message')).toEqual([
      { part: 'history', tokens_estimated: 100 },
      { part: 'message', tokens_estimated: 4 },
    ])
    const few = await costs({ replies: [says('x')], tools: [], spec: workerSpec() })
    expect(few.map(({ part }) => part)).toEqual(['base', 'execution', 'session', 'message'])
  })
})
