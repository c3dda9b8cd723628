// One endpoint without a daemon, for benches and checks of this repository.
export { type HttpAnswer, httpPost, type HttpPost } from './http-post.ts'
export { openAiChatProvider } from './openai-chat.ts'
export { openAiBaseUrl } from './openai-client.ts'
export { openAiEndpoint } from './openai-endpoint.ts'
export { openAiResponsesProvider } from './openai-responses.ts'
