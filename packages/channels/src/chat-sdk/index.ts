export { ChatSdkChannel, type NetworkAnswer, type NetworkRequest } from './chat-sdk-channel.ts'
