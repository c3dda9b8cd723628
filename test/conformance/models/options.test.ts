import { describe, expect, it, test } from 'vitest'
import { type Options, readOptions } from './options.ts'

const key = 'sk-pl4nted-0123456789'
const read = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Options => {
  const options = readOptions(args, env)
  if (!('server' in options)) throw new Error(JSON.stringify(options))
  return options
}
const faultOf = (args: readonly string[], env: Readonly<Record<string, string>> = {}): string => {
  const options = readOptions(args, env)
  return 'fault' in options ? options.fault : ''
}

describe('the options', () => {
  it('have the defaults of the configuration', () => {
    expect(read([], { OPENAI_API_KEY: key })).toEqual({
      server: {
        ...{
          baseURL: null,
          key,
          keyName: 'OPENAI_API_KEY',
          keyHeader: null,
          model: 'gpt-5-mini',
          protocol: 'chat_completions',
        },
        ...{ reasoningEffort: null, outputTokensMax: 1_000, contextTokens: null, overflowTokensMax: 10_000 },
      },
      ...{ name: null, standIn: false, write: null, json: false, stepMsMax: 30_000, runMsMax: 120_000 },
    })
  })

  it('come from the variables of a daemon, if there is no option', () => {
    const env = { OPENAI_BASE_URL: 'http://127.0.0.1:8080/v1/', BEAVER_MODEL: 'qwen3', OPENAI_API_KEY: key }
    expect(read([], env).server).toMatchObject({ baseURL: 'http://127.0.0.1:8080/v1', model: 'qwen3', key })
    expect(read(['--model', 'llama3'], env).server).toMatchObject({ model: 'llama3', key })
  })

  it('may follow "--", as pnpm passes it on', () => {
    expect(read(['--', '--model', 'llama3'], { OPENAI_API_KEY: key }).server.model).toBe('llama3')
  })

  it('send OPENAI_API_KEY to the main endpoint only', () => {
    const env = { OPENAI_API_KEY: key }
    expect(read([], env).server.key).toBe(key)
    expect(read(['--base-url', 'https://api.openai.com/v1/'], env).server).toMatchObject({
      key,
      baseURL: null,
    })
    expect(read(['--base-url', 'http://127.0.0.1:11434/v1'], env).server.key).toBeNull()
    expect(
      read(['--base-url', 'http://127.0.0.1:11434/v1', '--key-env', 'OPENAI_API_KEY'], env).server.key,
    ).toBe(key)
  })

  test.each([
    [[], /which server is asked: --base-url, or OPENAI_API_KEY/],
    [['--base-url', 'ollama'], /http or https URL/],
    [['--protocol', 'grpc'], /chat_completions or responses/],
    [['--key-env', key], /name of a variable/],
    [['--key-env', 'NOT_SET'], /NOT_SET is not set/],
    [['--write', 'a.json'], /needs --name/],
    [['--context-tokens', '12'], /--context-tokens is a whole number from 1000 on/],
    [['--output-tokens-max', '1e3'], /--output-tokens-max is a whole number/],
    [['--key', key], /--key/],
    [['left', 'over'], /left/],
  ])('%j are refused', (args, says) => {
    expect(faultOf(args)).toMatch(says)
    expect(faultOf(args)).not.toContain(key)
  })
})
