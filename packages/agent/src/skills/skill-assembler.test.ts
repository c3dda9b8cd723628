import { BeaverError, type Usage } from '@beaver/core'
import { hangsPaid, says, scriptedProvider, type ScriptedReply, until } from '@beaver/testing'
import { describe, expect, it, test } from 'vitest'
import { skill } from '../../test/skill-kit.ts'
import { ProviderError } from '../provider/chat-provider.ts'
import type { EmbeddingProvider } from '../provider/provider-bundle.ts'
import { type AssembleOptions, assembleSkills, type NoPlace, type SkillSelection } from './skill-assembler.ts'
import type { Skill } from './skill.ts'

const tables = skill('table-layout', 'Lays out Markdown tables with units.')
const checks = skill('table-tests', 'Tests Markdown tables.')
const weather = skill('weather', 'Forecasts rain and wind.')
const all = [tables, checks, weather]

interface Asked {
  readonly selection: Promise<SkillSelection | null>
  readonly main: ReturnType<typeof scriptedProvider>
  readonly auxiliary: ReturnType<typeof scriptedProvider> | null
  readonly stop: AbortController
  /** Why the embeddings failed. */
  readonly reasons: readonly string[]
  /** What was paid beside the choice. */
  readonly paid: readonly Parameters<NonNullable<AssembleOptions['onPaid']>>[0][]
  /** The texts of each request for embeddings that was to be made. */
  readonly reserved: readonly (readonly string[])[]
}

function ask(
  query: string,
  given: {
    main?: readonly ScriptedReply[]
    fallback?: readonly ScriptedReply[]
    auxiliary?: readonly ScriptedReply[]
    embeddings?: EmbeddingProvider
    skills?: readonly Skill[]
    /** Why no embeddings may be asked for. */
    short?: NoPlace
  } = {},
): Asked {
  const main = scriptedProvider(given.main ?? [], 'main')
  const fallback = given.fallback === undefined ? null : scriptedProvider(given.fallback, 'fallback')
  const auxiliary = given.auxiliary === undefined ? null : scriptedProvider(given.auxiliary, 'auxiliary')
  const stop = new AbortController()
  const providers = {
    main,
    fallbacks: fallback === null ? [] : [fallback],
    auxiliary,
    embeddings: given.embeddings ?? null,
  }
  const reasons: string[] = []
  const paid: Asked['paid'][number][] = []
  const reserved: (readonly string[])[] = []
  const told: Partial<AssembleOptions> = {
    onEmbeddingsFailed: (reason: string) => void reasons.push(reason),
    onPaid: async (call) => void paid.push(call),
    async reserveEmbedding(_, texts) {
      reserved.push(texts)
      return given.short ?? null
    },
  }
  const selection = assembleSkills(query, {
    skills: given.skills ?? all,
    providers,
    signal: stop.signal,
    mark: 'bcdfghjk',
    ...told,
  })
  selection.catch(() => {})
  return { selection, main, auxiliary, stop, reasons, paid, reserved }
}

/** A text's vector: how often it has each of some words. */
function wordCounts(words: readonly string[]): EmbeddingProvider & { readonly asked: (readonly string[])[] } {
  const asked: (readonly string[])[] = []
  return {
    name: 'counts',
    model: 'counts-1',
    textsMax: 64,
    asked,
    embed(texts) {
      asked.push(texts)
      const vectors = texts.map((text) => words.map((word) => text.toLowerCase().split(word).length - 1))
      return Promise.resolve({ vectors, usage: used(texts) })
    },
  }
}
/** @param vectors for the texts */
const embeddingsThat = (
  vectors: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>,
  textsMax = 64,
): EmbeddingProvider => ({
  name: 'embeddings',
  model: 'm',
  textsMax,
  embed: async (texts) => ({ vectors: await vectors(texts), usage: used(texts) }),
})
const used = (texts: readonly string[]): Usage => ({ input_tokens: texts.length, output_tokens: 0, calls: 1 })
const chose = (...names: string[]): ScriptedReply => says(JSON.stringify({ skills: names }))

describe('the skills of a task', () => {
  it('are what the model chooses of what recall found, with what it cost', async () => {
    const { selection, main } = ask('Make Markdown tables', { main: [chose('table-tests', 'table-layout')] })
    expect(await selection).toEqual({
      recall: 'lexical',
      candidates: [
        { name: 'table-layout', score: expect.any(Number) as number },
        { name: 'table-tests', score: expect.any(Number) as number },
      ],
      chosen: [checks, tables],
      usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
      provider: 'main',
      model: 'scripted-model',
      failure: null,
    })
    const [request] = main.requests
    expect(request?.tools).toEqual([])
    expect(request?.onText).toBeUndefined()
    expect(request?.messages[0]?.content).toMatch(/^Choose the skills/)
    expect(request?.messages[1]?.content).not.toContain('weather')
  })

  it('are nobody’s question when none may fit: nothing is asked', async () => {
    for (const query of ['Say hello', '', '   ']) expect(await ask(query).selection).toBeNull()
    expect(await ask('Make Markdown tables', { skills: [] }).selection).toBeNull()
  })

  it('are chosen by the auxiliary provider where there is one', async () => {
    const { selection, main } = ask('Make Markdown tables', { auxiliary: [chose('table-layout')] })
    expect(await selection).toMatchObject({ chosen: [tables], provider: 'auxiliary' })
    expect(main.requests).toEqual([])
  })

  it('may be none', async () => {
    expect(await ask('Make Markdown tables', { main: [chose()] }).selection).toMatchObject({
      chosen: [],
      failure: null,
      provider: 'main',
    })
  })

  it('are none of those that models may not invoke', async () => {
    const hidden = { ...tables, modelInvocable: false }
    expect(await ask('Make Markdown tables', { skills: [hidden] }).selection).toBeNull()
    const { selection } = ask('Make Markdown tables', {
      skills: [hidden, checks],
      main: [chose('table-layout')],
    })
    expect(await selection).toMatchObject({ candidates: [{ name: 'table-tests' }], chosen: [] })
  })

  test.each<[string, ScriptedReply, object]>([
    [
      'a provider that fails',
      new ProviderError('provider_unavailable', 'It is down.'),
      { failure: { class: 'provider_unavailable', message: 'It is down.' }, provider: null },
    ],
    [
      'a provider that breaks',
      new TypeError('oops'),
      { failure: { class: 'internal', message: 'oops' }, provider: null },
    ],
    [
      'an answer that cannot be read',
      says('I would take the first.'),
      { failure: { class: 'malformed_output' }, provider: 'main', usage: { calls: 1 } },
    ],
    [
      'an answer without text',
      { content: null },
      { failure: { class: 'malformed_output' }, provider: 'main' },
    ],
  ])('are none after %s, which is told: the run goes on', async (_, reply, told) => {
    expect(await ask('Make Markdown tables', { main: [reply, reply] }).selection).toMatchObject({
      chosen: [],
      ...told,
    })
  })

  const down = new ProviderError('provider_unavailable', 'It is down.')

  it.each([
    [
      'the main provider, after the auxiliary one',
      { auxiliary: [down], main: [chose('table-layout')] },
      'main',
    ],
    [
      'the fallback, after both',
      { auxiliary: [down], main: [down], fallback: [chose('table-layout')] },
      'fallback',
    ],
    ['the only provider, at the second try', { main: [down, chose('table-layout')] }, 'main'],
  ])('are chosen by %s, when there is no answer before', async (_, given, provider) => {
    expect(await ask('Make Markdown tables', given).selection).toMatchObject({
      chosen: [tables],
      provider,
      failure: null,
      usage: { calls: 1 },
    })
  })

  it('count what was paid for a call that gave no answer, with the model that was paid', async () => {
    const used = { input_tokens: 90, output_tokens: 7, calls: 1, reasoning_tokens: 3 }
    const broken = new ProviderError('provider_unavailable', 'It broke off.', {
      paid: { usage: used, model: 'broken-model' },
    })
    const unfinished: ScriptedReply = { content: '{"skills":', finishReason: 'error', usage: used }
    const paid = { usage: used, model: 'broken-model', provider: 'auxiliary' }
    const chosen = ask('Make Markdown tables', { auxiliary: [broken], main: [chose('table-layout')] })
    expect(await chosen.selection).toMatchObject({
      chosen: [tables],
      usage: { input_tokens: 10, output_tokens: 5, calls: 1 },
    })
    expect(chosen.paid).toEqual([paid])
    const none = ask('Make Markdown tables', { auxiliary: [broken], main: [unfinished] })
    expect(await none.selection).toMatchObject({ chosen: [], usage: { calls: 0 } })
    expect(none.paid).toEqual([paid, { usage: used, model: 'scripted-model', provider: 'main' }])
  })

  it('are given up when the run is cancelled, before and while the model is asked', async () => {
    const before = new AbortController()
    before.abort(new Error('enough'))
    const providers = { main: scriptedProvider([]), fallbacks: [], auxiliary: null, embeddings: null }
    await expect(
      assembleSkills('Make Markdown tables', {
        skills: all,
        providers,
        signal: before.signal,
        mark: 'bcdfghjk',
      }),
    ).rejects.toThrow('enough')
    const { selection, stop } = ask('Make Markdown tables', { main: [new Promise(() => {})] })
    stop.abort(new Error('enough'))
    await expect(selection).rejects.toThrow('enough')
  })
})

it('has what the calls cost if the run is cancelled while a model chooses', async () => {
  const paid = { usage: { input_tokens: 90, output_tokens: 4, calls: 1, estimated_calls: 1 }, model: 'm-1' }
  const asked = ask('Make Markdown tables', { main: [hangsPaid(paid)] })
  await until('the model is asked', () => asked.main.requests.length === 1)
  asked.stop.abort(new Error('enough'))
  await expect(asked.selection).rejects.toThrow('enough')
  expect(asked.paid).toEqual([{ ...paid, provider: 'main' }])
  expect(asked.main.requests).toHaveLength(1)
})

describe('recall by embeddings', () => {
  it('finds what words do not, and asks once for what each skill is', async () => {
    const embeddings = wordCounts(['table', 'rain', 'umbrella'])
    const providers = {
      main: scriptedProvider([chose('weather'), chose()]),
      fallbacks: [],
      auxiliary: null,
      embeddings,
    }
    const options = { skills: all, providers, signal: new AbortController().signal, mark: 'bcdfghjk' }
    expect(await assembleSkills('Rain?', options)).toMatchObject({
      recall: 'embedding',
      candidates: [{ name: 'weather', score: 1 }],
      chosen: [weather],
    })
    await assembleSkills('A table', { ...options, skills: [...all, skill('umbrella', 'Sells one.')] })
    expect(embeddings.asked).toEqual([
      ['Rain?', ...all.map(({ name, description }) => `${name}: ${description}`)],
      ['A table', 'umbrella: Sells one.'],
    ])
  })

  it('is reserved and paid, request by request', async () => {
    const embeddings = embeddingsThat(async (texts) => texts.map(({ length }) => [length, 1]), 2)
    const asked = ask('Rain?', { embeddings, main: [chose()] })
    expect((await asked.selection)?.recall).toBe('embedding')
    const texts = ['Rain?', ...all.map(({ name, description }) => `${name}: ${description}`)]
    const requests = [texts.slice(0, 2), texts.slice(2, 4)]
    expect(asked.reserved).toEqual(requests)
    expect(asked.paid).toEqual(
      requests.map((some) => ({ provider: 'embeddings', model: 'm', usage: used(some) })),
    )
  })

  it('ends the search if its cost cannot be recorded: no model is asked', async () => {
    const main = scriptedProvider([chose('table-layout')], 'main')
    const fenced = new BeaverError('fenced', 'Another daemon has the task.')
    await expect(
      assembleSkills('Make Markdown tables', {
        ...{ skills: all, signal: new AbortController().signal, mark: 'bcdfghjk' },
        providers: { main, fallbacks: [], auxiliary: null, embeddings: wordCounts(['table']) },
        onPaid: () => Promise.reject(fenced),
      }),
    ).rejects.toBe(fenced)
    expect(main.requests).toEqual([])
  })

  it('that has no place in a budget gives way to recall by words', async () => {
    const embeddings = wordCounts(['table'])
    const refused = { class: 'budget_exceeded', message: 'The budget is used up.' } as const
    const { selection, reasons } = ask('Make Markdown tables', {
      ...{ embeddings, main: [chose('table-layout')], short: { refused } },
    })
    expect(await selection).toMatchObject({ recall: 'lexical', chosen: [tables] })
    expect([embeddings.asked, reasons]).toEqual([[], [refused.message]])
  })

  it('that finds nothing asks no model', async () => {
    expect(await ask('Say hello', { embeddings: wordCounts(['table', 'rain']) }).selection).toBeNull()
  })

  test.each<[string, Parameters<typeof embeddingsThat>[0]]>([
    ['fail', () => Promise.reject(new ProviderError('provider_timeout', 'slow'))],
    ['are none', () => Promise.resolve([])],
    ['are too many', (texts) => Promise.resolve([...texts, ''].map(() => [1]))],
    [
      'differ in length',
      (texts) => Promise.resolve(texts.map((_, i) => Array.from({ length: 1 + i }, () => 1))),
    ],
    ['hold what is no number', (texts) => Promise.resolve(texts.map(() => [Number.NaN]))],
    ['are empty', (texts) => Promise.resolve(texts.map(() => []))],
  ])('that %s gives way to recall by words, and the reason is told', async (_, vectors) => {
    const { selection, reasons } = ask('Make Markdown tables', {
      embeddings: embeddingsThat(vectors),
      main: [chose('table-layout')],
    })
    expect(await selection).toMatchObject({ recall: 'lexical', chosen: [tables], failure: null })
    expect(reasons).toEqual([expect.stringMatching(/slow|cannot be compared|vectors for/)])
  })

  it('asks again for everything when the model behind the name changed', async () => {
    let length = 1
    const embeddings = embeddingsThat((texts) =>
      Promise.resolve(texts.map(() => Array.from({ length }, () => 1))),
    )
    const recall = async (): Promise<string | undefined> =>
      (await ask('Make Markdown tables', { embeddings, main: [chose()] }).selection)?.recall
    expect(await recall()).toBe('embedding')
    length = 2
    expect([await recall(), await recall()]).toEqual(['lexical', 'embedding'])
  })
})
