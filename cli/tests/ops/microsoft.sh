onnxtool ops --domain com.microsoft MatMulNBits QLinearConcat
