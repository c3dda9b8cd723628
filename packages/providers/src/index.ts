export { type EndpointGate, type EndpointGateOptions, type GateLimits, gateBuffer } from './gate/endpoint-gate.ts'
export { type OpenAiChatOptions } from './openai-chat.ts'
export { openAiBaseUrl, type OpenAiEndpointOptions } from './openai-endpoint.ts'
export { type EndpointChoice, type ProviderChoices, providerBundle } from './provider-bundle.ts'
