export {
  type EndpointGate,
  type EndpointGateOptions,
  type GateLimits,
  gateBuffer,
} from './gate/endpoint-gate.ts'
export { type OpenAiChatOptions } from './openai-chat.ts'
export { type ClientVariant, openAiBaseUrl, untilAborted } from './openai-client.ts'
export { type OpenAiEndpointOptions } from './openai-endpoint.ts'
export {
  askWithoutPrompt,
  type EndpointChoice,
  type ChatChoice,
  type OwnChoice,
  type ProviderChoices,
  gateState,
  type GateState,
  providerBundle,
} from './provider-bundle.ts'
export { FormHabits, type SentForm } from './form-habits.ts'
export { serveOwnModels } from './own-models/serve-own-models.ts'
export { formRefusedBy, hasNetworkCode, providerErrorFrom, refusalThrown } from './own-models/thrown-error.ts'
export { objectText } from './request-body.ts'
export { type StructuredOutput } from './response-format.ts'
export { ImageHabits } from './image-habits.ts'
export { imageWords, type ShownImages, withResultImages } from './wire-images.ts'
