// aimock as a good server of models for `pnpm conformance:models`: it does what each of the requests asks
// for.
import { LLMock } from '@copilotkit/aimock'

const weather = (...cities: readonly string[]) => ({
  toolCalls: cities.map((city) => ({ name: 'get_weather', arguments: JSON.stringify({ city }) })),
})
const tooLong =
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 10040 tokens. Please reduce the length of the messages."
/** In the words of both interfaces. By the Responses API, aimock counts nothing by itself. */
const usage = {
  prompt_tokens: 40,
  completion_tokens: 5,
  input_tokens: 40,
  output_tokens: 5,
  total_tokens: 45,
}
const textCharsMax = 32_768

/** The caller starts and stops it. Its models are `gpt-5-mini` and whatever is not `beaver-no-such-model`. */
export function standInMock(): LLMock {
  const mock = new LLMock({ port: 0, logLevel: 'silent' })
  mock.on(
    { model: 'beaver-no-such-model' },
    {
      error: { message: 'The model does not exist.', type: 'invalid_request_error', code: 'model_not_found' },
      status: 404,
    },
  )
  mock.on(
    { predicate: ({ messages }) => JSON.stringify(messages).length > textCharsMax },
    {
      error: {
        message: tooLong,
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
      status: 400,
    },
  )
  mock.on({ userMessage: 'the word "ready"' }, { content: 'ready', usage })
  mock.on({ userMessage: 'from 1 to 10' }, { content: '1 2 3 4 5 6 7 8 9 10', usage }, { chunkSize: 4 })
  mock.on({ userMessage: '"Oslo"}: two calls', hasToolResult: false }, weather('Paris', 'Oslo'))
  mock.on(
    { userMessage: 'two calls', hasToolResult: true },
    { content: 'It is 23 °C in Paris and 17 °C in Oslo.' },
  )
  mock.on({ userMessage: '{"city": "Paris"}', hasToolResult: false }, weather('Paris'))
  mock.on({ userMessage: 'the capital Paris' }, { content: '{"paris":"France","oslo":"Norway"}' })
  mock.on({ userMessage: 'Which colour' }, { content: 'Red.' })
  mock.on({ userMessage: 'from 1 to 200' }, { content: '1 2 3 4 5 6 7 8', finishReason: 'length' })
  return mock
}
