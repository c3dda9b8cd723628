export { EmailChannel, type EmailChannelOptions } from './email-channel.ts'
export { mailFaults } from './mail-faults.ts'
