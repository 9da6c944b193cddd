/** The topic that a TaskNode drains, and where the tables of the tile form stand beside the product's. */
export const nodeTopic = 't'
export const tileSchema = 'tiles'
