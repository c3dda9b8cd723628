// What a server really said, as a file: the requests of a run, the raw answers, and how they were judged.
// Beaver can be asked again what it makes of them. Nothing goes into a file that `cleaner` did not clean. A
// file of a stand-in (a fake provider, the simulated model) says so. It shows nothing about a live server.
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { HttpAnswer } from '@beaver/providers/endpoint'
import { z } from 'zod'
import { cleaner } from './clean.ts'
import type { Exchange } from './recorder.ts'
import type { AskedServer, ProbeRun, StepPost } from './run-probes.ts'

const results = ['passed', 'failed', 'unsupported', 'unasked'] as const

const seenServer = z.strictObject({
  version: z.literal(1),
  name: z.string().min(1),
  /** Whether this server is a stand-in for a live model, such as a fake provider. */
  stand_in: z.boolean(),
  model: z.string(),
  protocol: z.enum(['chat_completions', 'responses']),
  seen_on: z.iso.date(),
  asked_with: z.strictObject({
    /** Whether it was asked at OpenAI's own address, where some requests differ. */
    openai: z.boolean(),
    reasoning_effort: z.string().nullable(),
    output_tokens_max: z.int(),
    context_tokens: z.int().nullable(),
    overflow_tokens_max: z.int(),
  }),
  judged: z.array(z.strictObject({ name: z.string(), result: z.enum(results), seen: z.string() })),
  steps: z.array(
    z.strictObject({
      name: z.string(),
      exchanges: z.array(
        z.strictObject({
          request: z.string(),
          status: z.int().nullable(),
          headers: z.record(z.string(), z.string()),
          /** Whether the body is all that came. */
          whole: z.boolean(),
          /** The lines of the body. */
          body: z.array(z.string()),
        }),
      ),
    }),
  ),
})

export type SeenServer = z.infer<typeof seenServer>

export interface AboutServer {
  readonly name: string
  readonly standIn: boolean
  /** YYYY-MM-DD */
  readonly day: string
}

const requestCharsMax = 4_000

/** The file of a run. */
export function seenServerOf(
  run: ProbeRun,
  server: AskedServer & { readonly baseURL: string },
  isOpenAi: boolean,
  about: AboutServer,
): SeenServer {
  const clean = cleaner(server)
  const exchanged = ({ request, status, headers, whole, body }: Exchange) => ({
    request: cutTo(clean(request), requestCharsMax),
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, clean(value)])),
    whole,
    body: clean(body).split('\n'),
  })
  return {
    ...{
      version: 1,
      name: clean(about.name),
      stand_in: about.standIn,
      model: clean(server.model),
      protocol: server.protocol,
      seen_on: about.day,
    },
    asked_with: {
      openai: isOpenAi,
      reasoning_effort: server.reasoningEffort,
      output_tokens_max: server.outputTokensMax,
      context_tokens: server.contextTokens,
      overflow_tokens_max: server.overflowTokensMax,
    },
    judged: run.judged.map(({ name, result, seen }) => ({ name, result, seen: clean(seen) })),
    steps: run.steps.map(({ name, exchanges }) => ({ name, exchanges: exchanges.map(exchanged) })),
  }
}

const cutTo = (text: string, chars: number): string =>
  text.length <= chars ? text : `${text.slice(0, chars).toWellFormed()}… [${text.length} characters]`

export const seenText = (seen: SeenServer): string => `${JSON.stringify(seen, null, 2)}\n`

/** The files of a folder, by name. @throws {Error} if one cannot be read */
export function seenServers(folder: string): readonly SeenServer[] {
  return globSync('*.json', { cwd: folder })
    .toSorted()
    .map((file) => {
      const read = seenServer.safeParse(JSON.parse(readFileSync(join(folder, file), 'utf8')))
      if (!read.success)
        throw new Error(
          `${basename(file)} is no file of "pnpm conformance:models": ${z.prettifyError(read.error)}`,
        )
      return read.data
    })
}

/** How the server of a file is asked again. */
export function askedAgain({ asked_with: how, model, protocol }: SeenServer): AskedServer {
  return {
    ...{
      baseURL: how.openai ? null : 'http://replayed.invalid/v1',
      key: null,
      keyName: 'none',
      keyHeader: null,
      model,
      protocol,
    },
    ...{ reasoningEffort: how.reasoning_effort, outputTokensMax: how.output_tokens_max },
    ...{ contextTokens: how.context_tokens, overflowTokensMax: how.overflow_tokens_max },
  }
}

/** Answers what the server answered: in each step, the next answer of the file to the next request. */
export function replay({ steps }: Pick<SeenServer, 'steps'>): StepPost {
  const left = new Map(steps.map(({ name, exchanges }) => [name, [...exchanges]]))
  return (step) => async () => {
    const next = left.get(step)?.shift()
    if (next === undefined || next.status === null)
      throw new Error(`the file has no further answer for the step ${step}`)
    return answerOf(next.status, new Headers(next.headers), Buffer.from(next.body.join('\n')))
  }
}

function answerOf(status: number, headers: Headers, body: Buffer): HttpAnswer {
  return {
    status,
    header: (name) => headers.get(name),
    headers: () => headers,
    text: async () => body.toString(),
    bytes: (async function* () {
      yield body
    })(),
    discard: () => undefined,
  }
}
