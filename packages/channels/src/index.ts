export { type ChannelHost, startChannels } from './channel-host.ts'
export type { Channel, ChannelSettings, Receive, Received, Sent } from './channel.ts'
export { ConsoleChannel } from './console-channel.ts'
export { WebhookChannel } from './webhook-channel.ts'
