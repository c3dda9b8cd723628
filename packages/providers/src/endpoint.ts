// One endpoint alone, for programs of this repository that ask it without a daemon: benches and checks of a server.
export { httpPost } from './http-post.ts'
export { openAiEndpoint } from './openai-endpoint.ts'
