// The work of the bench `durable` as a Restate service, in a process of its own: each step is a `ctx.run`
// around one call of the model.
import { restatePeers } from './restate.ts'

interface Context {
  run<Value>(name: string, act: () => Promise<Value>): Promise<Value>
}
interface Sdk {
  service(definition: {
    name: string
    handlers: Readonly<Record<string, (ctx: Context, input: { steps: number }) => Promise<unknown>>>
  }): object
  serve(options: { services: readonly object[]; port: number }): Promise<unknown>
}
interface Undici {
  readonly Agent: new (options: object) => object
  request(url: string, options: object): Promise<{ body: { json(): Promise<unknown> } }>
}

const { service, serve } = (await restatePeers.load('@restatedev/restate-sdk')) as Sdk
const { Agent, request } = (await restatePeers.load('undici')) as Undici
const dispatcher = new Agent({ connections: 1_024, pipelining: 1 })
const url = `${process.env['BENCH_PROVIDER_URL']}/chat/completions`

async function askModel(step: number, before: string): Promise<string> {
  const content = `<task>\nA bench.\n</task>\n\n<instruction mark="x">\nDo part ${step}.\n</instruction>\n\n<dependency_output>\n${before}\n</dependency_output>`
  const body = JSON.stringify({ model: 'bench-model', messages: [{ role: 'user', content }] })
  const answer = await request(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    dispatcher,
  })
  const { choices } = (await answer.body.json()) as { choices: { message: { content: string } }[] }
  return choices[0]?.message.content ?? ''
}

const bench = service({
  name: 'Bench',
  handlers: {
    async run(ctx, { steps }) {
      const outputs: string[] = []
      for (let step = 1; step <= steps; step++)
        outputs.push(await ctx.run(`step ${step}`, () => askModel(step, outputs.at(-1) ?? '')))
      return { outputs }
    },
  },
})

process.on('disconnect', () => process.exit(0))
await serve({ services: [bench], port: Number(process.env['BENCH_PORT']) })
process.send?.('ready')
