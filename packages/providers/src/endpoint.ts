// One endpoint alone, for programs of this repository that ask it without a daemon: benches and checks of a
// server.
export { type HttpAnswer, httpPost, type HttpPost } from './http-post.ts'
export { openAiChatProvider } from './openai-chat.ts'
export { openAiBaseUrl } from './openai-client.ts'
export { openAiEndpoint } from './openai-endpoint.ts'
export { openAiResponsesProvider } from './openai-responses.ts'
