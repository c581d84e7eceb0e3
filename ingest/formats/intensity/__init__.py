"""Files of the carbon intensity of electricity: what people download, in the units and shapes it comes in."""
