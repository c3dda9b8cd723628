// Images in messages.
export { imageLimits, imageText, imageTokens } from './image-measures.ts'
export { type ImagePart, imagePart, imageTypes } from './image-part.ts'
export { type ImageHeader, readImageHeader } from './image-header.ts'
