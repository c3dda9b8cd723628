// Secrets and how they are hidden.
export { hideSecrets } from './hide-secrets.ts'
export { type MaskedStream, maskedStream } from './masked-stream.ts'
export {
  hasSecret,
  maskedData,
  maskSecrets,
  onSecretsChange,
  protectedSecrets,
  protectSecrets,
} from './process-secrets.ts'
export { isHideable, type KnownSecret } from './secret-masker.ts'
